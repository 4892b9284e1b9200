//! The assignors of the broker (KIP-848).

pub(super) mod range;
pub mod streams_sticky;
pub(super) mod uniform;

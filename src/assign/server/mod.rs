//! The assignors of the broker (KIP-848).

pub(super) mod range;
pub(super) mod uniform;

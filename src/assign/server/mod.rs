//! The assignors of the broker: of consumer groups (KIP-848), share groups (KIP-932) and streams groups (KIP-1071).

pub(super) mod range;
pub(super) mod simple;
pub mod streams_sticky;
mod topic_order;
pub(super) mod uniform;

//! Objects built and memory lent through CPython's C interface: the only folder with unsafe code.
//!
//! Every function here is safe to call: where C asks for a promise, a type that can be made in one checked way only keeps
//! it. The stable ABI and builds without a global lock do not show the inside of objects; there the same is done by calls.
#![allow(unsafe_code, reason = "these calls save most of the time of assign and plan")]

pub(crate) mod borrowed_columns;
pub(crate) mod collector;
pub(crate) mod entries;
pub(crate) mod partition_list;
pub(crate) mod slots;
pub(crate) mod tuple_class;

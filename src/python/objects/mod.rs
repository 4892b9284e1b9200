//! Python objects built and read through CPython's C API. This is the only folder with unsafe code.
//!
//! Every function that this folder exports is safe to call. A precondition of the C API is guaranteed by a type whose only constructor
//! checks it. The stable ABI and free-threaded builds hide the layout of objects; there the functions use API calls
//! instead.
#![allow(unsafe_code, reason = "direct access to objects saves most of the time of assign and plan")]

pub(crate) mod arrow_capsules;
pub(crate) mod borrowed_columns;
pub(crate) mod collector;
pub(crate) mod entries;
pub(crate) mod ints;
pub(crate) mod partition_list;
pub(crate) mod slots;
pub(crate) mod tuple_class;

//! Who gets which partition, exactly as Apache Kafka decides it.
//!
//! The vocabulary is the field's: a *group* has *members*; a member has a *subscription* (the topics it wants, and perhaps
//! an instance id and a rack); an *assignment* gives every member its partitions; a *span* is a run of consecutive
//! partition ids of one topic that one member gets.
//!
//! Nothing here knows Python: the folder `python` is compiled only behind the feature of that name.

pub mod assign;
pub mod bytes;
pub mod check;
pub mod error;
pub mod fleet;
pub mod group;
pub mod history;
pub mod matching;
pub mod offsets;
pub mod plan;
pub mod replay;
pub mod wire;

#[cfg(feature = "python")]
mod python;

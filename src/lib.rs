//! Consumer-group assignments, exactly as Apache Kafka computes them.
//!
//! A *group* has *members*. A member has a *subscription*: its topics, and perhaps an instance id and a rack. An *assignment*
//! gives each member its partitions. A *span* is a run of consecutive partition ids of one topic that one member gets.
//!
//! Only the module `python`, which the feature `python` enables, depends on Python.

pub mod assign;
pub mod bytes;
pub mod cancellation;
pub mod check;
pub mod error;
pub mod fleet;
pub mod group;
pub mod matching;
pub mod memory;
pub mod offsets;
pub mod plan;
pub mod replay;
pub mod segments;
pub mod wire;

#[cfg(feature = "python")]
mod python;

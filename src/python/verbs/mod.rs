//! The functions and classes of `assignor._core`: each class, and each set of related functions, has its own file or folder.

pub(crate) mod assign;
pub(crate) mod check;
pub(crate) mod cluster_metadata;
pub(crate) mod decode_batch;
mod decoded_columns;
pub(crate) mod decoded_group;
mod event_columns;
pub(crate) mod fleet;
pub(crate) mod folded_hash;
pub(crate) mod group;
mod history_columns;
mod kept_objects;
pub(crate) mod match_topics;
pub(crate) mod matcher;
mod options;
mod partition_lists;
pub(crate) mod plan;
pub(crate) mod records;
pub(crate) mod replay;
mod replay_columns;
pub(crate) mod segments;
pub(crate) mod silences;
mod table;
pub(crate) mod topic_pattern;
pub(crate) mod topics;
pub(crate) mod untrack;
pub(crate) mod wire;

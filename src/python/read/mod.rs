//! Conversion of values from Python, Arrow and numpy to types of the engine. Errors name the member or topic and the value.

pub(crate) mod arrow;
pub(crate) mod binary_column;
pub(crate) mod fleet;
pub(crate) mod group;
pub(crate) mod integer_column;
pub(crate) mod join_group;
pub(crate) mod list_columns;
pub(crate) mod member_columns;
pub(crate) mod member_data_columns;
pub(crate) mod members;
pub(crate) mod name_objects;
pub(crate) mod named_topics;
pub(crate) mod owned_partitions;
pub(crate) mod pattern_subscriptions;
pub(crate) mod patterns;
pub(crate) mod plan_parts;
pub(crate) mod rack_sets;
pub(crate) mod record;
pub(crate) mod recordings;
pub(crate) mod subscriptions;
pub(crate) mod text_column;
pub(crate) mod topic_columns;
pub(crate) mod topic_ids;
pub(crate) mod topic_names;
pub(crate) mod topics;
pub(crate) mod values;

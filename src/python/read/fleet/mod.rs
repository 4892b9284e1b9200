//! Arrow columns of clusters and consumer groups, read for the verbs of a fleet.

pub(crate) mod arrays;
pub(crate) mod clusters;
pub(crate) mod groups;
pub(crate) mod scenarios;

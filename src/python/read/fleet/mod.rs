//! Reader of Arrow columns of clusters and consumer groups, for the class `Clusters`.

pub(crate) mod arrays;
pub(crate) mod clusters;
pub(crate) mod groups;
pub(crate) mod reasons;
pub(crate) mod scenarios;

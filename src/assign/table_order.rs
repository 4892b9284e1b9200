//! The order in which a `java.util.HashMap` or `HashSet` iterates over its keys.

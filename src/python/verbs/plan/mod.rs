//! The class `Plan`.

mod arrow;
mod changes;
mod json;
pub(crate) mod mapping;
mod wire;

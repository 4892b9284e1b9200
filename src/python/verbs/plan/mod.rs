//! The class `Plan`: a mapping first, and what else an assignment answers.

mod arrow;
mod changes;
mod json;
pub(crate) mod mapping;
mod wire;

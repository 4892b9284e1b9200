//! Verbs on a fleet: columns of consumer groups in, columns of answers out.

pub(crate) mod clusters;
mod columns;

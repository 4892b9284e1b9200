//! Functions on a fleet, from columns of consumer groups to columns of results.

pub(crate) mod classic_member;
pub(crate) mod clusters;
mod columns;

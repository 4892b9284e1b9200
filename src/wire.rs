//! `ConsumerProtocol` bytes: what a member subscribes to and what its leader assigned to it.

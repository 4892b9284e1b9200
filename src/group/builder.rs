//! Builder of a group from a `JoinGroup` response, whose subscriptions are bytes. Equal lists of topics are looked up once.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::{Group, Topics};
use crate::bytes::java_text;
use crate::error::WireError;
use crate::wire::decode_subscription;

/// A group under construction.
#[derive(Debug)]
pub struct GroupBuilder {
    group: Group,
    /// Subscriptions by the bytes of their topics.
    subscriptions: FxHashMap<Vec<u8>, u32>,
    tolerant: bool,
}

impl GroupBuilder {
    /// Return a builder without members. With `tolerant` it accepts subscriptions whose body has an older version than their header.
    #[must_use]
    pub fn new(topics: Arc<Topics>, tolerant: bool) -> Self {
        let mut group = Group::new(topics, 0);
        group.set_from_wire();
        Self { group, subscriptions: FxHashMap::default(), tolerant }
    }

    /// Add a member with its subscription as `ConsumerProtocol` bytes.
    ///
    /// # Errors
    /// Invalid subscription; the member is not added.
    pub fn push(&mut self, id: &str, instance_id: Option<&str>, subscription: &[u8]) -> Result<(), WireError> {
        let fields = decode_subscription(subscription, self.tolerant)?;
        let subscription = if let Some(subscription) = self.subscriptions.get(fields.topics.as_bytes()) {
            *subscription
        } else {
            let numbers: Vec<u32> =
                fields.topics.topics().map(|name| self.group.topic_number(&java_text(name))).collect();
            let subscription = self.group.intern_subscription(&numbers);
            self.subscriptions.insert(fields.topics.as_bytes().to_vec(), subscription);
            subscription
        };
        self.group.push(id, subscription, instance_id, fields.rack().as_deref());
        let generation = Some(fields.generation_id).filter(|generation| *generation >= 0);
        for (topic, ids) in fields.owned_partitions.topic_partitions() {
            let topic = self.group.owned_topic_number(&java_text(topic));
            self.group.push_owned(topic, ids.iter());
        }
        self.group.set_member_data(fields.user_data, generation);
        Ok(())
    }

    /// Return the group.
    #[must_use]
    pub fn finish(self) -> Group {
        self.group
    }
}

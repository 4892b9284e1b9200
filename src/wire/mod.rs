//! Decoders and encoders of the bytes that members of classic groups send: their subscriptions and assignments.
//!
//! [`consumer`] reads and writes the messages of consumers, `ConsumerProtocol`. The other files read what Kafka's own applications write:
//! [`streams`] the user data of Kafka Streams in a `ConsumerProtocol` message, [`connect`] the messages of Kafka Connect. They accept any
//! bytes: a count is compared with the remaining bytes before memory is allocated for it. [`Client`] is the library that wrote them.

mod client;
pub mod connect;
mod consumer;
pub mod streams;

pub use client::{Client, Library, Support, Unconvertible, VERSION_0};
pub(crate) use consumer::encoding_version;
pub use consumer::{
    Assignment, DecodedAssignment, DecodedSubscription, Elements, NEWEST_VERSION, Subscription, TopicPartitions,
    decode_assignment, decode_subscription, encode_assignment, encode_subscription,
};

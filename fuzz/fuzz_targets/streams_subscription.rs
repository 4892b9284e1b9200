//! Fuzz target: the user data of a subscription of Kafka Streams.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    assignor_fuzz::streams_subscription(data);
});

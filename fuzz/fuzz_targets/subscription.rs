//! Fuzz target: a `ConsumerProtocol` subscription.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    assignor_fuzz::subscription(data);
});

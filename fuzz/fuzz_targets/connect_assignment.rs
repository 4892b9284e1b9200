//! Fuzz target: an assignment of Kafka Connect.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    assignor_fuzz::connect_assignment(data);
});

//! Fuzz target: a `ConsumerProtocol` assignment.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    assignor_fuzz::assignment(data);
});

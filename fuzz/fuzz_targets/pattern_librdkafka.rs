//! Fuzz target: a topic pattern of the dialect `librdkafka`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    assignor_fuzz::pattern_librdkafka(data);
});

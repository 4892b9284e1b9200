//! Fuzz target: key and value of a record of `__consumer_offsets`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    assignor_fuzz::record(data);
});

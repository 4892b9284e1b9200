//! Fuzz target: a log of records, which a replay reads.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    assignor_fuzz::replay(data);
});

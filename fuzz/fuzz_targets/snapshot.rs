//! Fuzz target: a snapshot of a replay.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    assignor_fuzz::snapshot(data);
});

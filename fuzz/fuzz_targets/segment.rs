//! Fuzz target: a segment of a log.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    assignor_fuzz::segment(data);
});

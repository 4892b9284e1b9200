//! Fuzz target: a topic pattern of the dialect `re2j`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    assignor_fuzz::pattern_re2j(data);
});

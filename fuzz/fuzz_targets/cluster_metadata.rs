//! Fuzz target: value of a record of `__cluster_metadata`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    assignor_fuzz::cluster_metadata(data);
});

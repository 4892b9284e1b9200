//! The fuzz targets on stable Rust: each accepts its seeds, and no mutation of a seed breaks what it checks.
//!
//! `make fuzz` runs the same functions under libFuzzer. This test has overflow checks, unlike the package.

#[path = "../fuzz/src/lib.rs"]
#[expect(unreachable_pub, reason = "the functions are public in the crate of the fuzz targets")]
mod targets;

use std::fs;
use std::path::{Path, PathBuf};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

use targets::{TARGETS, Target};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz")
}

/// Return the seeds of a target, in the order of their file names.
fn seeds(target: &str) -> Vec<Vec<u8>> {
    let found = fs::read_dir(folder().join("seeds").join(target)).expect("each target has a folder of seeds");
    let mut paths: Vec<PathBuf> = found.map(|entry| entry.expect("the folder can be read").path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).expect("a seed can be read")).collect()
}

#[test]
fn each_target_accepts_its_seeds() {
    for (name, target) in TARGETS {
        let seeds = seeds(name);
        assert!(seeds.len() >= 10, "{name}");
        for seed in seeds {
            assert!(target(&seed), "{name} rejects the seed {}", seed.escape_ascii());
        }
    }
}

#[test]
fn each_target_is_a_program_of_cargo_fuzz() {
    let manifest = fs::read_to_string(folder().join("Cargo.toml")).expect("the manifest can be read");
    let programs: Vec<&str> = manifest
        .lines()
        .filter_map(|line| line.strip_prefix("path = \"fuzz_targets/")?.strip_suffix(".rs\""))
        .collect();
    assert_eq!(TARGETS.map(|(name, _)| name).to_vec(), programs);
    for name in programs {
        let path = folder().join("fuzz_targets").join(format!("{name}.rs"));
        let program = fs::read_to_string(path).expect("the program can be read");
        assert!(program.contains(&format!("assignor_fuzz::{name}(data)")), "{name}");
    }
}

/// Change of bytes at a place.
#[derive(Debug, Clone)]
enum Change {
    Replace(Vec<u8>),
    Insert(Vec<u8>),
    Remove(usize),
    Truncate,
}

fn changes() -> impl Strategy<Value = Vec<(Index, Change)>> {
    // Numbers at the ends of their types, in the width of a length, a count and a time.
    let edges = [vec![0xff; 8], [vec![0x7f], vec![0xff; 7]].concat(), [vec![0x80], vec![0; 7]].concat(), vec![0; 8]];
    let edge = (select(edges.to_vec()), select(vec![1_usize, 2, 4, 8])).prop_map(|(edge, size)| edge[..size].to_vec());
    let bytes = prop_oneof![vec(any::<u8>(), 1..5), edge];
    let change = prop_oneof![
        4 => bytes.clone().prop_map(Change::Replace),
        2 => bytes.prop_map(Change::Insert),
        1 => (1_usize..5).prop_map(Change::Remove),
        1 => Just(Change::Truncate),
    ];
    vec((any::<Index>(), change), 1..4)
}

fn changed(seed: &[u8], changes: &[(Index, Change)]) -> Vec<u8> {
    let mut data = seed.to_vec();
    for (index, change) in changes {
        let at = index.index(data.len() + 1);
        let left = data.len() - at;
        match change {
            Change::Replace(bytes) => drop(data.splice(at..at + bytes.len().min(left), bytes.iter().copied())),
            Change::Insert(bytes) => drop(data.splice(at..at, bytes.iter().copied())),
            Change::Remove(count) => drop(data.drain(at..at + count.min(&left))),
            Change::Truncate => data.truncate(at),
        }
    }
    data
}

/// Call a target with mutated seeds; the number of calls is eight times that of the cases of other properties.
fn call_with_mutated_seeds(name: &str, target: Target) {
    call_many_times(name, target, 8);
}

/// Call a target with mutated seeds; the number of calls is a multiple of that of the cases of other properties.
fn call_many_times(name: &str, target: Target, factor: u32) {
    let seeds = seeds(name);
    let config = ProptestConfig { cases: factor * ProptestConfig::default().cases, ..ProptestConfig::default() };
    let inputs = (select(seeds), changes()).prop_map(|(seed, changes)| changed(&seed, &changes));
    let mut runner = proptest::test_runner::TestRunner::new(config);
    let result = runner.run(&inputs, |data| {
        target(&data);
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{name}: {error}"));
}

#[test]
fn no_mutated_message_breaks_a_decoder() {
    call_with_mutated_seeds("assignment", targets::assignment);
    call_with_mutated_seeds("subscription", targets::subscription);
    call_with_mutated_seeds("record", targets::record);
}

#[test]
fn no_mutated_message_of_an_application_breaks_a_decoder() {
    call_with_mutated_seeds("connect_assignment", targets::connect_assignment);
    call_with_mutated_seeds("connect_subscription", targets::connect_subscription);
    call_with_mutated_seeds("streams_assignment", targets::streams_assignment);
    call_with_mutated_seeds("streams_subscription", targets::streams_subscription);
}

/// The long profile has 20,000 cases, so this makes 10^6 calls.
#[test]
fn no_mutated_cluster_metadata_breaks_its_decoder() {
    call_many_times("cluster_metadata", targets::cluster_metadata, 50);
}

#[test]
fn no_mutated_pattern_breaks_a_dialect() {
    for (name, target) in TARGETS.into_iter().filter(|(name, _)| name.starts_with("pattern_")) {
        call_with_mutated_seeds(name, target);
    }
}

#[test]
fn no_mutated_log_breaks_a_replay() {
    call_with_mutated_seeds("replay", targets::replay);
}

#[test]
fn no_mutated_segment_breaks_the_reader() {
    call_with_mutated_seeds("segment", targets::segment);
}

#[test]
fn no_mutated_snapshot_breaks_a_replay() {
    call_with_mutated_seeds("snapshot", targets::snapshot);
}

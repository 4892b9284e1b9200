//! Tests with times, offsets and settings at the ends of an i64: each call returns, progresses and does not overflow, and a timestamp that
//! is not valid fires no deadline.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::tests::{Pair, classic, commit, epoch, joins, target_epoch, tombstone};
use super::times::LATEST_TIME;
use super::*;

const NOW: i64 = 1_700_000_000_000;

/// Return numbers at the ends of an i64, around the ends of the valid timestamps, and between them.
fn edges() -> impl Strategy<Value = i64> {
    let near = select(vec![i64::MIN, -60_000, 0, 60_000, NOW, LATEST_TIME, i64::MAX - 60_000, i64::MAX]);
    prop_oneof![
        3 => (near, -2_i64..3).prop_map(|(time, step)| time.saturating_add(step)),
        2 => (0_i64..400_000).prop_map(|time| NOW + time),
        1 => any::<i64>(),
    ]
}

fn settings() -> impl Strategy<Value = Settings> {
    let positive = || select(vec![1, 2, 5, 20, 100, 60_000, i64::MAX / 2, i64::MAX - NOW, i64::MAX - 1, i64::MAX]);
    vec(positive(), 6).prop_map(|found| Settings {
        storm_rebalances: found[0],
        storm_window: found[1],
        stuck_factor: found[2],
        stuck_interval: found[3],
        never_committed: found[4],
        session_timeout: found[5],
    })
}

fn records() -> impl Strategy<Value = Pair> {
    let one: &[&[i32]] = &[&[0]];
    let both: &[&[i32]] = &[&[0, 1]];
    select(vec![
        classic(1, &[("a", both)]),
        classic(2, &[("a", one), ("b", one)]),
        classic(3, &[("a", one)]),
        classic(i32::MAX, &[("b", both)]),
        classic(i32::MIN, &[]),
        commit(0),
        commit(0),
        commit(1),
        commit(7),
        joins("r", &["t"], "t.*"),
        epoch(3),
        epoch(4),
        epoch(i32::MAX),
        target_epoch(4),
        tombstone(5, &["g", "m"]),
        tombstone(2, &["g"]),
        tombstone(3, &["g"]),
        (commit(0).0, None),
        (commit(0).0, Some(vec![9])),
        (classic(1, &[]).0, Some(vec![0])),
    ])
}

fn silences() -> impl Strategy<Value = Vec<Silence>> {
    let silence =
        |(since, until)| Silence { since, until, partitions: vec![0], is_whole_log: true, moved: String::new() };
    vec((edges(), edges()).prop_map(silence), 0..3)
}

/// Push a record with a timestamp and an offset.
fn push_at(replay: &mut Replay, (key, value): &Pair, (timestamp, offset): (i64, i64), events: &mut Vec<Event>) {
    let entry = LogRecord { partition: Some(0), offset, timestamp, key: Some(key.as_slice()), value: value.as_deref() };
    replay.push("c", &entry, events);
}

/// Fire deadlines; none that is due remains.
fn advance(replay: &mut Replay, now: i64, events: &mut Vec<Event>) {
    replay.advance(now, None, events);
    assert!(replay.next_deadline().is_none_or(|deadline| deadline > now));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn each_call_returns_and_progresses(
        settings in settings(),
        silences in silences(),
        steps in vec((records(), edges(), edges(), any::<bool>()), 1..40),
        last in edges(),
    ) {
        let mut replay = Replay::new(Context { settings, is_compared: true, ..Context::default() });
        replay.observe_silences(silences);
        let mut events = Vec::new();
        let mut offset = i64::MIN;
        for (record, timestamp, now, jumps) in &steps {
            offset = if *jumps { offset.max(*now) } else { offset.max(-1).saturating_add(1) };
            push_at(&mut replay, record, (*timestamp, offset), &mut events);
            if *jumps {
                advance(&mut replay, *now, &mut events);
            }
        }
        let _ = replay.finish();
        let _ = replay.states();
        advance(&mut replay, last, &mut events);
        advance(&mut replay, i64::MAX, &mut events);
        prop_assert_eq!(None, replay.next_deadline());
        replay.end("c", "g", Some(i64::MAX), &mut events);
        prop_assert!(events.iter().all(|event| (0..=LATEST_TIME).contains(&event.at) || event.at > NOW));
    }

    #[test]
    fn snapshots_and_further_calls_change_no_event(
        settings in settings(),
        steps in vec((records(), edges(), any::<bool>()), 1..40),
        last in edges(),
    ) {
        let context = || Context { settings, is_compared: true, ..Context::default() };
        let (mut whole, mut split) = (Replay::new(context()), Replay::new(context()));
        let (mut of_whole, mut of_split) = (Vec::new(), Vec::new());
        let mut clock = i64::MIN;
        for ((record, timestamp, is_split), offset) in steps.iter().zip(0..) {
            push_at(&mut whole, record, (*timestamp, offset), &mut of_whole);
            push_at(&mut split, record, (*timestamp, offset), &mut of_split);
            clock = clock.max(times::valid(*timestamp).unwrap_or(clock));
            if *is_split {
                advance(&mut split, clock, &mut of_split);
                let mut restored = Replay::new(context());
                restored.restore(&split.snapshot().unwrap()).unwrap();
                prop_assert_eq!(split.next_deadline(), restored.next_deadline());
                split = restored;
            }
        }
        advance(&mut whole, last, &mut of_whole);
        advance(&mut split, last, &mut of_split);
        prop_assert_eq!(&of_whole, &of_split);
        prop_assert_eq!(whole.finish(), split.finish());
        prop_assert_eq!(whole.counts(), split.counts());
    }
}

/// Return the events of a group whose member a commits partition 0 every second; the record at `place` has another timestamp.
fn commits_with(place: usize, timestamp: i64) -> (Replay, Vec<Event>) {
    let mut replay = Replay::default();
    let mut events = Vec::new();
    push_at(&mut replay, &classic(1, &[("a", &[&[0, 1]])]), (NOW, 0), &mut events);
    for second in 1..20 {
        let at = if second == place as i64 { timestamp } else { NOW + second * 1_000 };
        push_at(&mut replay, &commit(0), (at, second), &mut events);
    }
    advance(&mut replay, NOW + 19_000, &mut events);
    (replay, events)
}

fn names(events: &[Event]) -> Vec<&'static str> {
    events.iter().map(|event| event.details.name()).collect()
}

#[test]
fn a_timestamp_that_is_not_valid_fires_no_deadline() {
    for timestamp in [i64::MIN, -1, LATEST_TIME + 1, i64::MAX - 60_000, i64::MAX] {
        for place in [1, 10, 19] {
            let (replay, events) = commits_with(place, timestamp);

            assert_eq!(vec!["generation", "rebalance", "invalid_timestamp"], without_members(&events), "{timestamp}");
            assert_eq!((1, 0), (replay.counts().invalid_timestamps, replay.counts().time_backwards));
            let found = &replay.states()[0];
            assert_eq!((1, Some(place as i64)), (found.invalid_timestamps, found.first_invalid));
        }
    }
    let (replay, events) = commits_with(10, NOW + 10_500);
    assert_eq!((vec!["generation", "rebalance"], 0), (without_members(&events), replay.counts().invalid_timestamps));
}

fn without_members(events: &[Event]) -> Vec<&'static str> {
    names(events).into_iter().filter(|name| *name != "member").collect()
}

#[test]
fn deadlines_of_valid_records_fire_after_a_timestamp_that_is_not_valid() {
    let (mut replay, mut events) = commits_with(10, i64::MAX);
    events.clear();

    advance(&mut replay, NOW + 60_000, &mut events);

    // The member has committed every second, and has not committed partition 1.
    assert_eq!(vec!["stuck", "offsets"], names(&events));
    assert_eq!(vec![NOW + 29_000, NOW + 60_000], events.iter().map(|event| event.at).collect::<Vec<_>>());
}

#[test]
fn a_member_whose_last_commit_has_no_time_is_not_stuck() {
    let (mut replay, mut events) = commits_with(19, -1);
    events.clear();

    advance(&mut replay, NOW + 59_999, &mut events);

    assert_eq!(Vec::<&str>::new(), names(&events));
}

#[test]
fn an_owner_without_a_time_counts_from_the_next_valid_timestamp() {
    for first in [-1, i64::MAX] {
        let mut replay = Replay::default();
        let mut events = Vec::new();
        push_at(&mut replay, &classic(1, &[("a", &[&[0, 1]])]), (first, 0), &mut events);
        advance(&mut replay, NOW, &mut events);
        push_at(&mut replay, &commit(0), (NOW, 1), &mut events);
        advance(&mut replay, NOW + 59_999, &mut events);
        assert_eq!(vec!["invalid_timestamp", "generation", "rebalance"], without_members(&events));
        assert_eq!(vec![0; 4], events.iter().map(|event| event.at).collect::<Vec<_>>());
        events.clear();

        advance(&mut replay, NOW + 60_000, &mut events);

        assert_eq!(vec!["offsets"], names(&events));
    }
}

#[test]
fn rebalances_without_a_time_are_no_storm() {
    let storms = |timestamp: fn(i64) -> i64| {
        let mut replay = Replay::default();
        let mut events = Vec::new();
        for place in 0..40 {
            let record = classic(place as i32 + 1, &[("a", &[&[0]])]);
            push_at(&mut replay, &record, (timestamp(place), place), &mut events);
        }
        (names(&events).into_iter().filter(|name| *name == "storm").count(), replay.states()[0].tally.busiest_minute())
    };
    assert_eq!((0, 0), storms(|_| -1));
    assert_eq!((0, 0), storms(|place| if place == 0 { NOW } else { i64::MAX }));
    assert_eq!((1, 39), storms(|place| NOW + place));
    assert_eq!((1, 39), storms(|place| place)); // a test clock that starts at 0
}

#[test]
fn a_silence_ends_not_with_a_partition_whose_records_have_no_time() {
    let silence = |has_unknown: bool| {
        let mut finder = SilenceFinder::default();
        for second in 0..20 {
            for group in 0..2 {
                assert_eq!(None, finder.add(0, group, NOW + second * 1_000));
            }
        }
        if has_unknown {
            finder.interrupt(0);
        }
        finder.add(0, 0, NOW + 200_000)
    };
    assert!(silence(false).is_some_and(|found| found.until == NOW + 200_000));
    assert_eq!(None, silence(true));
}

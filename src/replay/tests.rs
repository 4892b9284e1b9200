//! Tests of what Python cannot see: counts of owners, epochs without a target, and damaged snapshots.

use proptest::prelude::*;

use super::member::OwnedPartitions;
use super::*;

/// Key and value of a record.
pub(super) type Pair = (Vec<u8>, Option<Vec<u8>>);

fn text(text: &str) -> Vec<u8> {
    [&(text.len() as i16).to_be_bytes(), text.as_bytes()].concat()
}

fn compact(text: &str) -> Vec<u8> {
    [&[text.len() as u8 + 1], text.as_bytes()].concat()
}

fn bytes(data: &[u8]) -> Vec<u8> {
    [&(data.len() as i32).to_be_bytes(), data].concat()
}

fn int32(number: i32) -> Vec<u8> {
    number.to_be_bytes().to_vec()
}

/// Return a key: the type number, then strings.
fn key(number: u8, fields: &[&str]) -> Vec<u8> {
    let fields: Vec<Vec<u8>> = fields.iter().map(|field| text(field)).collect();
    [vec![0, number], fields.concat()].concat()
}

/// Return a generation of a classic group with `range`, whose members subscribe to topic t and are assigned lists of its partitions.
pub(super) fn classic(generation: i32, members: &[(&str, &[&[i32]])]) -> Pair {
    let subscription = [vec![0, 0], int32(1), text("t"), int32(-1)].concat();
    let member = |(id, entries): &(&str, &[&[i32]])| {
        let entry = |ids: &&[i32]| {
            [text("t"), int32(ids.len() as i32), ids.iter().flat_map(|id| id.to_be_bytes()).collect()].concat()
        };
        let listed: Vec<u8> = entries.iter().flat_map(entry).collect();
        let assignment = [vec![0, 0], int32(entries.len() as i32), listed, int32(-1)].concat();
        let client = [text(id), text("c"), text("/h"), int32(1)].concat();
        [client, bytes(&subscription), bytes(&assignment)].concat()
    };
    let listed: Vec<u8> = members.iter().flat_map(member).collect();
    let head = [vec![0, 0], text("consumer"), int32(generation), text("range"), text("a")].concat();
    (key(2, &["g"]), Some([head, int32(members.len() as i32), listed].concat()))
}

/// Return a KIP-848 member with a rack, topic names and a pattern; "" means null.
pub(super) fn joins(rack: &str, names: &[&str], pattern: &str) -> Pair {
    let nullable = |text: &str| if text.is_empty() { vec![0] } else { compact(text) };
    let names: Vec<Vec<u8>> =
        [vec![vec![names.len() as u8 + 1]], names.iter().map(|name| compact(name)).collect()].concat();
    let client = [compact("c"), compact("/h")].concat();
    let head = [vec![0, 0], nullable(""), nullable(rack), client, names.concat(), nullable(pattern)].concat();
    (key(5, &["g", "m"]), Some([head, int32(1), nullable(""), vec![0]].concat()))
}

/// Return the record of the topics that a broker found for a pattern.
fn resolves(pattern: &str, topics: &[&str]) -> Pair {
    let found: Vec<u8> = topics.iter().flat_map(|topic| compact(topic)).collect();
    let head = [vec![0, 0, topics.len() as u8 + 1], found].concat();
    (key(16, &["g", pattern]), Some([head, vec![0; 16], vec![0]].concat()))
}

pub(super) fn tombstone(number: u8, fields: &[&str]) -> Pair {
    (key(number, fields), None)
}

pub(super) fn commit(partition: i32) -> Pair {
    let value = [vec![0, 0], vec![0; 8], text(""), vec![0; 8]].concat();
    ([key(1, &["g", "t"]), int32(partition)].concat(), Some(value))
}

#[test]
fn entries_are_merged_in_any_order() {
    let entries = [("u", vec![4]), ("t", vec![3, 1]), ("v", vec![]), ("t", vec![2, 3])];

    let found = member::merged(entries);

    assert_eq!(OwnedPartitions::from([("t".into(), vec![1, 2, 3]), ("u".into(), vec![4])]), found);
}

#[test]
fn a_partition_with_several_owners_counts_once() {
    let mut owners = member::OwnerCounts::default();
    let mut counts = Vec::new();
    owners.add("t", &[0, 1]);
    owners.add("t", &[1, 2]);
    owners.add("u", &[1]);
    counts.push(owners.distinct());
    owners.remove("t", &[0, 1]);
    counts.push(owners.distinct());
    owners.remove("t", &[1, 2]);
    owners.remove("u", &[1]);
    counts.push(owners.distinct());

    assert_eq!(vec![4, 3, 0], counts);
}

/// Return the record of an epoch of a consumer group.
pub(super) fn epoch(epoch: i32) -> Pair {
    (key(3, &["g"]), Some([vec![0, 0], int32(epoch), vec![0]].concat()))
}

pub(super) fn target_epoch(epoch: i32) -> Pair {
    (key(6, &["g"]), Some([vec![0, 0], int32(epoch), vec![0]].concat()))
}

#[test]
fn an_epoch_is_complete_with_its_target_assignment_or_the_next_epoch() {
    let completed = |records: &[Pair]| {
        let mut replay = Replay::default();
        let events = push(&mut replay, records, 0);
        let has_owners = |event: &Event| match &event.details {
            EventDetails::Rebalance { generation, moved, .. } => Some((*generation, moved.is_some())),
            _ => None,
        };
        events.iter().filter_map(has_owners).collect::<Vec<_>>()
    };
    let log = [epoch(1), joins("", &["t"], ""), epoch(2), epoch(3)];
    let with = |more: &[Pair]| completed(&[&log, more].concat());

    assert_eq!(vec![(1, true), (2, false)], with(&[]));
    assert_eq!(vec![(1, true), (2, false)], with(&[target_epoch(2)]));
    assert_eq!(vec![(1, true), (2, false), (3, true)], with(&[target_epoch(3)]));
    assert_eq!(vec![(1, true), (2, false), (3, false), (1, true)], with(&[classic(1, &[])]));
}

#[test]
fn a_forgotten_group_leaves_the_others_as_they_are() {
    let of_group = |group: &str| {
        let mut records = [classic(1, &[("a", &[&[0, 1]])]), commit(0)];
        for (key, _) in &mut records {
            key[4] = group.as_bytes()[0];
        }
        records
    };
    let (mut all, mut some) = (Replay::default(), Replay::default());
    for group in ["g", "h", "i"] {
        push(&mut all, &of_group(group), 0);
    }
    push(&mut some, &of_group("h"), 0);
    push(&mut some, &of_group("i"), 0);

    assert!(all.forget("c", "g") && !all.forget("c", "g") && !all.forget("d", "h"));
    let (mut of_all, mut of_some) = (Vec::new(), Vec::new());
    assert_eq!(some.next_deadline(), all.next_deadline());
    all.advance(1_000_000, None, &mut of_all);
    some.advance(1_000_000, None, &mut of_some);
    assert_eq!((of_some.len(), of_some), (2, of_all));
    assert!(all.forget("c", "i") && all.forget("c", "h"));
    assert_eq!(None, all.next_deadline());
}

// ---- events and snapshots

/// Return a replay of a classic and a consumer group with members, commits and an open epoch.
fn machine() -> Replay {
    let mut replay = Replay::new(Context { is_compared: true, ..Context::default() });
    let records = [
        classic(1, &[("a", &[&[0, 1]])]),
        classic(2, &[("a", &[&[0]]), ("b", &[&[1]])]),
        commit(0),
        commit(1),
        commit(0),
        joins("r", &["t"], "t.*"),
        resolves("t.*", &["t"]),
        epoch(3),
        tombstone(5, &["g", "m"]),
    ];
    push(&mut replay, &records, 0);
    replay
}

/// Push records, one per second; return their events.
fn push(replay: &mut Replay, records: &[Pair], first: i64) -> Vec<Event> {
    let mut events = Vec::new();
    for ((key, value), place) in records.iter().zip(first..) {
        let entry = LogRecord {
            partition: None,
            offset: place,
            timestamp: place * 1_000,
            key: Some(key),
            value: value.as_deref(),
        };
        replay.push("c", &entry, &mut events);
    }
    events
}

fn later() -> Vec<Pair> {
    vec![commit(1), target_epoch(3), classic(3, &[("b", &[&[0, 1]])]), tombstone(2, &["g"]), commit(7)]
}

#[test]
fn a_restored_replay_gives_the_same_events() {
    let mut first = machine();
    let mut second = Replay::new(Context { is_compared: true, ..Context::default() });
    second.restore(&first.snapshot().unwrap()).unwrap();

    assert_eq!(first.snapshot(), second.snapshot());
    assert_eq!(first.next_deadline(), second.next_deadline());
    let events = push(&mut first, &later(), 50);
    assert_eq!(events, push(&mut second, &later(), 50));
    assert!(events.len() > 5, "{events:?}");
    assert_eq!(first.finish(), second.finish());
}

#[test]
fn a_snapshot_of_other_settings_is_rejected() {
    let settings = Settings { stuck_factor: 7, ..Settings::default() };
    let mut other = Replay::new(Context { settings, ..Context::default() });

    let error = other.restore(&machine().snapshot().unwrap()).unwrap_err();

    let text = "the snapshot has the settings storm_rebalances=20, storm_window_ms=60000, stuck_factor=10, \
                stuck_interval_ms=100, never_committed_ms=60000, session_timeout_ms=45000; this replay has \
                storm_rebalances=20, storm_window_ms=60000, stuck_factor=7, stuck_interval_ms=100, \
                never_committed_ms=60000, session_timeout_ms=45000";
    assert_eq!(text, error.to_string());
}

#[test]
fn every_truncated_snapshot_is_rejected() {
    let data = machine().snapshot().unwrap();
    for length in 0..data.len() {
        assert!(Replay::default().restore(&data[..length]).is_err());
        assert!(Replay::default().restore(&snapshot::sealed(&data[snapshot::HEADER.min(length)..length])).is_err());
    }
    let error = Replay::default().restore(&[&data[..10], &[0xff], &data[11..]].concat()).unwrap_err();
    assert_eq!("the snapshot has version 255; this package reads version 10", error.to_string());
}

#[test]
fn a_snapshot_with_a_count_beyond_int64_is_rejected() {
    let data = machine().snapshot().unwrap();
    let records = snapshot::HEADER + size_of::<i64>() * 6; // the first count follows the six settings
    let restored = |count: u64| {
        let body = [&data[snapshot::HEADER..records], &count.to_be_bytes(), &data[records + 8..]].concat();
        let mut replay = Replay::default();
        replay.restore(&snapshot::sealed(&body)).map(|()| push(&mut replay, &later(), 50).len())
    };

    assert!(restored(9).is_ok_and(|events| events > 5));
    assert!(restored(1 << 62).is_ok());
    assert_eq!("the snapshot is damaged: its content is invalid", restored(u64::MAX).unwrap_err().to_string());
}

proptest! {
    #[test]
    fn a_mutated_snapshot_is_rejected_or_usable(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let data = machine().snapshot().unwrap();
        let mut body = data[snapshot::HEADER..].to_vec();
        for (index, byte) in changes {
            let index = index.index(body.len());
            body[index] = byte;
        }
        let mut replay = Replay::default();
        if replay.restore(&snapshot::sealed(&body)).is_ok() {
            push(&mut replay, &later(), 50);
            let mut events = Vec::new();
            replay.advance(1_000_000, None, &mut events);
            prop_assert_eq!(1, replay.states().len().min(1));
            prop_assert!(replay.finish().len() < 1_000);
            prop_assert!(replay.snapshot().is_ok());
        }
    }

    #[test]
    fn random_bytes_are_rejected(body in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(Replay::default().restore(&body).is_err());
        prop_assert!(Replay::default().restore(&snapshot::sealed(&body)).is_err());
    }
}

//! Tests of replay with hand-written logs.

use proptest::prelude::*;

use super::member::{OwnedPartitions, owned};
use super::*;

/// Key and value of a record.
type Pair = (Vec<u8>, Option<Vec<u8>>);

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
fn classic(generation: i32, members: &[(&str, &[&[i32]])]) -> Pair {
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

/// Return a classic group of consumers, with one member that has the subscription bytes.
fn subscribed(subscription: &[u8]) -> Pair {
    let member = [text("a"), text("c"), text("/h"), int32(1), bytes(subscription), bytes(&[])].concat();
    let head = [vec![0, 0], text("consumer"), int32(1), text("sticky"), text("a")].concat();
    (key(2, &["g"]), Some([head, int32(1), member].concat()))
}

/// Return a KIP-848 member with a rack, topic names and a pattern; "" means null.
fn joins(rack: &str, names: &[&str], pattern: &str) -> Pair {
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

/// Return the rack, topics and pattern of the only member.
fn subscription(records: &[Pair]) -> (Option<String>, Option<Vec<String>>, Option<String>) {
    let found = history(records);
    assert_eq!((1, 0), (found.members.len(), found.bad_records));
    let member = found.members.into_iter().next().unwrap();
    (member.rack, member.topics, member.pattern)
}

fn strings(texts: &[&str]) -> Vec<String> {
    texts.iter().map(ToString::to_string).collect()
}

fn tombstone(number: u8, fields: &[&str]) -> Pair {
    (key(number, fields), None)
}

fn commit(partition: i32) -> Pair {
    let value = [vec![0, 0], vec![0; 8], text(""), vec![0; 8]].concat();
    ([key(1, &["g", "t"]), int32(partition)].concat(), Some(value))
}

/// Replay records, one per second; return the group and the numbers of its generations.
fn history_of(records: &[Pair]) -> (ReplayedGroup, Vec<i32>) {
    let mut replay = Replay::new(Context { is_compared: true, ..Context::default() });
    let mut events = push(&mut replay, records, 0);
    let group = replay.end("c", "g", None, &mut events).unwrap();
    assert_eq!(0, replay.states().len());
    let number = |event: &Event| match event.details {
        EventDetails::Generation { generation, .. } => Some(generation),
        _ => None,
    };
    (group, events.iter().filter_map(number).collect())
}

/// Return the group after records.
fn history(records: &[Pair]) -> ReplayedGroup {
    history_of(records).0
}

#[test]
fn a_classic_group_has_the_state_and_members_of_its_last_record() {
    let log = [classic(1, &[("a", &[&[0, 1]])]), classic(2, &[("a", &[&[0]]), ("b", &[&[1]])])];
    let (found, generations) = history_of(&log);

    assert_eq!((GroupKind::Classic, "Stable", Some(2)), (found.kind, found.state, found.generation));
    assert_eq!(vec!["a", "b"], found.members.iter().map(|member| member.id.as_str()).collect::<Vec<_>>());
    assert_eq!(vec![1, 2], generations);
    assert_eq!(2, owned(&found.members).len());
}

#[test]
fn entries_of_a_topic_listed_twice_are_merged() {
    let found = history(&[classic(1, &[("a", &[&[3, 1], &[2, 3]])])]);

    assert_eq!(Some(vec![1, 2, 3]), found.members[0].partitions.as_ref().map(|partitions| partitions["t"].clone()));
}

#[test]
fn a_classic_member_has_the_rack_and_topics_of_its_subscription() {
    let topics = [int32(2), text("u"), text("t"), int32(-1)].concat();
    let racked = |rack: &str| [vec![0, 3], topics.clone(), int32(0), int32(-1), text(rack)].concat();

    assert_eq!((Some("r1".into()), Some(strings(&["u", "t"])), None), subscription(&[subscribed(&racked("r1"))]));
    assert_eq!((None, Some(strings(&["u", "t"])), None), subscription(&[subscribed(&racked(""))]));
    assert_eq!((None, Some(strings(&["u", "t"])), None), subscription(&[subscribed(&[vec![0, 0], topics].concat())]));
    assert_eq!((None, None, None), subscription(&[subscribed(&[0])]));
}

#[test]
fn a_consumer_member_has_its_rack_and_its_topics_or_pattern() {
    let epoch = (key(3, &["g"]), Some([vec![0, 0], int32(1), vec![0; 9]].concat()));

    assert_eq!(
        (Some("r1".into()), Some(strings(&["u", "t"])), None),
        subscription(&[joins("r1", &["u", "t"], ""), epoch.clone()])
    );
    assert_eq!((None, Some(strings(&[])), None), subscription(&[joins("", &[], ""), epoch.clone()]));
    let resolved = [joins("", &[], "t.*"), resolves("t.*", &["t"]), epoch];
    assert_eq!((None, None, Some("t.*".into())), subscription(&resolved));
}

#[test]
fn topics_resolved_for_a_pattern_are_added_to_the_named_topics() {
    let epoch = (key(3, &["g"]), Some([vec![0, 0], int32(1), vec![0; 9]].concat()));
    let with = |more: &[Pair]| subscription(&[&[epoch.clone(), joins("", &["u", "t"], "[st]")], more].concat());
    let unresolved = (None, Some(strings(&["u", "t"])), Some("[st]".into()));

    assert_eq!(unresolved, with(&[]));
    assert_eq!(unresolved, with(&[resolves("other", &["o"])]));
    assert_eq!((None, Some(strings(&["u", "t", "s"])), None), with(&[resolves("[st]", &["t", "s"])]));
    assert_eq!((None, Some(strings(&["u", "t"])), None), with(&[resolves("[st]", &["s"]), resolves("[st]", &[])]));
    assert_eq!(unresolved, with(&[resolves("[st]", &["s"]), tombstone(16, &["g", "[st]"])]));
}

#[test]
fn a_group_is_gone_after_its_tombstone_if_no_offset_is_left() {
    let deleted = history(&[classic(4, &[]), tombstone(2, &["g"])]);
    let never = history(&[tombstone(2, &["g"])]);
    let survived = history(&[classic(4, &[]), commit(0), tombstone(2, &["g"])]);

    assert_eq!((GroupKind::Classic, "gone", Some(4)), (deleted.kind, deleted.state, deleted.generation));
    assert_eq!((GroupKind::Offsets, "gone", None), (never.kind, never.state, never.generation));
    assert_eq!((GroupKind::Offsets, "Empty", None), (survived.kind, survived.state, survived.generation));
}

#[test]
fn streams_groups_have_their_own_code_for_a_settled_member() {
    let group = |state: u8| {
        let metadata =
            [vec![0, 0, 0, 0], compact("c"), compact("/h"), vec![0; 8], compact("p"), vec![0xff, 1, 0]].concat();
        let topology = [vec![0, 0], int32(1), vec![1, 0]].concat();
        let epoch = [vec![0, 0], int32(2), vec![0; 8], vec![1, 0, 4], int32(1)].concat();
        let target = [vec![0, 0], int32(2), vec![0]].concat();
        let current = [vec![0, 0], int32(2), int32(1), vec![state], vec![1; 6], vec![0]].concat();
        history(&[
            (key(19, &["g", "m"]), Some(metadata)),
            (key(23, &["g"]), Some(topology)),
            (key(17, &["g"]), Some(epoch)),
            (key(20, &["g"]), Some(target)),
            (key(22, &["g", "m"]), Some(current)),
        ])
    };

    assert_eq!(["Reconciling", "Stable", "Reconciling"], [0, 1, 2].map(|state| group(state).state));
    assert_eq!(0, group(1).bad_records);
}

#[test]
fn bad_records_are_counted_and_ignored() {
    let found = history(&[classic(1, &[("a", &[&[0]])]), (key(2, &["g"]), Some(vec![0, 99]))]);

    assert_eq!((1, "Stable", Some(1)), (found.bad_records, found.state, found.generation));
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
fn epoch(epoch: i32) -> Pair {
    (key(3, &["g"]), Some([vec![0, 0], int32(epoch), vec![0]].concat()))
}

fn target_epoch(epoch: i32) -> Pair {
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
        let entry = LogRecord { offset: place, timestamp: place * 1_000, key: Some(key), value: value.as_deref() };
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
                stuck_interval_ms=100, never_committed_ms=60000; this replay has storm_rebalances=20, \
                storm_window_ms=60000, stuck_factor=7, stuck_interval_ms=100, never_committed_ms=60000";
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
    assert_eq!("the snapshot has version 255; this package reads version 3", error.to_string());
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

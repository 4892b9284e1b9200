//! Properties of range assignment on drawn groups, and comparison with a simple model of Kafka's rules.
//!
//! The model follows the rules step by step and shares no code with the crate: partitions are (topic, id), and each step searches
//! all consumers and computes their capacity again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use assignor::assign::{self, Options};
use assignor::group::{Group, Partitions, Racks, Topics};
use proptest::collection::{btree_map, btree_set, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// Racks of the replicas by partition id.
type Replicas = BTreeMap<i32, BTreeSet<String>>;
type Answer = BTreeMap<String, Vec<(String, i32)>>;

#[derive(Debug, Clone)]
struct Subscriber {
    instance_id: Option<String>,
    rack: Option<String>,
    topics: BTreeSet<String>,
}

#[derive(Debug, Clone)]
struct Drawn {
    topics: BTreeMap<String, Replicas>,
    members: Vec<(String, Subscriber)>,
    prefer_rack_aware: bool,
}

const RACKS: [&str; 4] = ["r0", "r1", "r2", ""];

fn names() -> impl Strategy<Value = String> {
    "[aB0é～😀]{0,3}"
}

/// Draw partitions. The few sizes make topics often co-partitioned. If `racks` is false, replicas have no racks.
fn partitions(racks: bool) -> impl Strategy<Value = Replicas> {
    let on = btree_set(select(RACKS.map(str::to_owned).to_vec()), if racks { 0..3 } else { 0..1 });
    select(vec![0_usize, 3, 3, 4, 4, 7]).prop_flat_map(move |size| {
        let ids = prop_oneof![Just((0..size as i32).collect()), btree_set(0..20_i32, size)];
        (ids, vec(on.clone(), size)).prop_map(|(ids, sets)| ids.into_iter().zip(sets).collect())
    })
}

fn groups(racks: bool) -> impl Strategy<Value = Drawn> {
    let rack = select(vec!["r0", "r1", "r2", "elsewhere", ""]).prop_map(str::to_owned);
    let member = (option::of(names()), option::weighted(0.8, rack), vec(any::<Index>(), 0..5), any::<bool>());
    let topics = btree_map(names(), partitions(racks), 1..5);
    (topics, btree_map(names(), member, 0..7), any::<bool>()).prop_map(move |(topics, members, prefer)| {
        let known: Vec<String> = topics.keys().cloned().collect();
        let mut instance_ids = BTreeSet::new();
        let members = members.into_iter().map(|(id, (instance_id, rack, picks, all))| {
            let picked = picks.iter().map(|pick| pick.get(&known).clone());
            let topics = if all { known.iter().cloned().collect() } else { picked.collect() };
            // Instance ids are distinct: between equal ones, the given order would decide.
            let instance_id = instance_id.filter(|instance_id| instance_ids.insert(instance_id.clone()));
            (id, Subscriber { instance_id, rack: rack.filter(|_| racks), topics })
        });
        let members = members.collect();
        Drawn { topics, members, prefer_rack_aware: racks && prefer }
    })
}

fn assign(drawn: &Drawn) -> Answer {
    let mut racks = Racks::default();
    let listed: Vec<(&String, Vec<(i32, u32)>)> = drawn
        .topics
        .iter()
        .map(|(name, partitions)| {
            let set = |(id, on): (&i32, &BTreeSet<String>)| {
                let mut on = on.iter().map(|rack| racks.number(rack)).collect();
                (*id, racks.set(&mut on))
            };
            (name, partitions.iter().rev().map(set).collect())
        })
        .collect();
    let topics: Vec<_> =
        listed.into_iter().map(|(name, listed)| (name, Partitions::listed(name, listed, &racks).unwrap())).collect();
    let mut group = Group::new(Arc::new(Topics::new(topics, racks)), drawn.members.len());
    for (id, member) in &drawn.members {
        let wanted: Vec<u32> = member.topics.iter().map(|name| group.topic_number(name)).collect();
        let class = group.intern_subscription(&wanted);
        group.push(id, class, member.instance_id.as_deref(), member.rack.as_deref());
    }
    let options = Options { prefer_rack_aware: drawn.prefer_rack_aware, ..Options::default() };
    let plan = assign::assign(&Arc::new(group), options).unwrap();
    let mut answer = Answer::new();
    for (number, member) in plan.members().iter().enumerate() {
        let list = answer.entry(member.to_owned()).or_default();
        for span in plan.spans_of(number) {
            list.extend(span.ids().map(|id| (plan.topics().get(span.topic as usize).to_owned(), id)));
        }
    }
    answer
}

fn utf16(text: &str) -> Vec<u16> {
    text.encode_utf16().collect()
}

/// Return the consumers of a topic in Kafka's order.
fn consumers<'a>(drawn: &'a Drawn, topic: &str) -> Vec<&'a (String, Subscriber)> {
    let mut found: Vec<_> = drawn.members.iter().filter(|(_, member)| member.topics.contains(topic)).collect();
    found.sort_by_key(|(id, member)| match &member.instance_id {
        Some(instance_id) => (0, utf16(instance_id)),
        None => (1, utf16(id)),
    });
    found
}

/// State of a topic during the assignment.
struct State<'a> {
    topic: &'a str,
    partitions: &'a Replicas,
    /// Member id and rack of the consumers, in Kafka's order.
    consumers: Vec<(&'a str, Option<&'a str>)>,
    unassigned: BTreeSet<i32>,
    given: BTreeMap<&'a str, Vec<i32>>,
    extra: usize,
}

impl<'a> State<'a> {
    fn new(drawn: &'a Drawn, topic: &'a str, partitions: &'a Replicas) -> Self {
        let rack = |member: &'a Subscriber| member.rack.as_deref().filter(|rack| !rack.is_empty());
        let consumers: Vec<_> =
            consumers(drawn, topic).into_iter().map(|(id, member)| (id.as_str(), rack(member))).collect();
        let extra = if consumers.is_empty() { 0 } else { partitions.len() % consumers.len() };
        let unassigned = partitions.keys().copied().collect();
        Self { topic, partitions, consumers, unassigned, given: BTreeMap::new(), extra }
    }

    fn quota(&self) -> usize {
        self.partitions.len() / self.consumers.len()
    }

    fn capacity(&self, member: &str) -> usize {
        let given = self.given.get(member).map_or(0, Vec::len);
        (self.quota() + usize::from(self.extra > 0)).saturating_sub(given)
    }

    fn give(&mut self, member: &'a str, ids: &[i32]) {
        let given = self.given.entry(member).or_default();
        given.extend_from_slice(ids);
        if given.len() > self.partitions.len() / self.consumers.len() {
            self.extra -= 1;
        }
        self.unassigned.retain(|id| !ids.contains(id));
    }

    fn matches(&self, rack: Option<&str>, id: i32) -> bool {
        rack.is_none_or(|rack| self.partitions[&id].contains(rack))
    }

    fn give_ranges(&mut self, only_matching: bool) {
        for (member, rack) in self.consumers.clone() {
            let may_take = |id: &i32| !only_matching || self.matches(rack, *id);
            let ids: Vec<i32> = self.unassigned.iter().copied().filter(may_take).take(self.capacity(member)).collect();
            if !ids.is_empty() {
                self.give(member, &ids);
            }
        }
    }

    fn needs_racks(&self, prefer: bool) -> bool {
        let all: BTreeSet<&String> = self.partitions.values().flatten().collect();
        let meet = self.consumers.iter().any(|(_, rack)| rack.is_some_and(|rack| all.contains(&rack.to_owned())));
        meet && (prefer || self.partitions.values().any(|on| on.iter().collect::<BTreeSet<_>>() != all))
    }
}

/// For each p, give the p-th smallest ids of all topics to the first consumer that may take all of them.
fn give_together(states: &mut [&mut State<'_>]) {
    let ids: Vec<Vec<i32>> = states.iter().map(|state| state.partitions.keys().copied().collect()).collect();
    for step in 0..ids[0].len() {
        let fits = |(member, rack): &(&str, Option<&str>)| {
            states.iter().zip(&ids).all(|(state, ids)| state.matches(*rack, ids[step]) && state.capacity(member) > 0)
        };
        let found = states[0].consumers.iter().copied().find(|consumer| fits(consumer));
        if let Some((member, _)) = found {
            for (state, ids) in states.iter_mut().zip(&ids) {
                state.give(member, &[ids[step]]);
            }
        }
    }
}

/// Return the answer of the model.
fn model(drawn: &Drawn) -> Answer {
    let states = drawn.topics.iter().map(|(topic, partitions)| State::new(drawn, topic, partitions));
    let mut states: Vec<State> = states.filter(|state| !state.consumers.is_empty()).collect();
    if states.iter().any(|state| state.needs_racks(drawn.prefer_rack_aware)) {
        let mut together: BTreeMap<_, Vec<&mut State>> = BTreeMap::new();
        for state in &mut states {
            let consumers: BTreeMap<_, _> = state.consumers.iter().copied().collect();
            together.entry((consumers, state.partitions.len())).or_default().push(state);
        }
        for group in together.values_mut() {
            if group.len() > 1 {
                give_together(group);
            } else if group[0].needs_racks(drawn.prefer_rack_aware) {
                group[0].give_ranges(true);
            }
        }
    }
    let mut answer: Answer = drawn.members.iter().map(|(id, _)| (id.clone(), Vec::new())).collect();
    for state in &mut states {
        state.give_ranges(false);
        for (member, ids) in &state.given {
            answer.get_mut(*member).unwrap().extend(ids.iter().map(|id| (state.topic.to_owned(), *id)));
        }
    }
    for list in answer.values_mut() {
        list.sort_by_key(|(topic, id)| (utf16(topic), *id));
    }
    answer
}

fn check_each_partition_has_one_subscriber_as_owner(drawn: &Drawn, answer: &Answer) {
    let mut given: Vec<(&str, i32)> = answer.values().flatten().map(|(topic, id)| (topic.as_str(), *id)).collect();
    given.sort_unstable();
    let wanted = |topic: &&String| drawn.members.iter().any(|(_, member)| member.topics.contains(*topic));
    let mut expected: Vec<(&str, i32)> = drawn
        .topics
        .keys()
        .filter(wanted)
        .flat_map(|topic| drawn.topics[topic].keys().map(move |id| (topic.as_str(), *id)))
        .collect();
    expected.sort_unstable();
    assert_eq!(expected, given);
    for (id, member) in &drawn.members {
        assert!(answer[id].iter().all(|(topic, _)| member.topics.contains(topic)), "{id:?}");
    }
    assert_eq!(drawn.members.len(), answer.len());
}

fn check_fair_shares(drawn: &Drawn, answer: &Answer) {
    for (topic, partitions) in &drawn.topics {
        let members = consumers(drawn, topic);
        if members.is_empty() {
            continue;
        }
        let (quota, extra) = (partitions.len() / members.len(), partitions.len() % members.len());
        let count = |id: &String| answer[id].iter().filter(|(of, _)| of == topic).count();
        let mut counts: Vec<usize> = members.iter().map(|(id, _)| count(id)).collect();
        counts.sort_unstable();
        let mut expected = vec![quota; members.len() - extra];
        expected.extend(vec![quota + 1; extra]);
        assert_eq!(expected, counts, "{topic:?}");
    }
}

proptest! {
    #[test]
    fn every_partition_has_one_owner_and_shares_are_fair(drawn in groups(true)) {
        let answer = assign(&drawn);

        check_each_partition_has_one_subscriber_as_owner(&drawn, &answer);
        check_fair_shares(&drawn, &answer);
    }

    #[test]
    fn without_racks_ranges_follow_the_order_of_members(drawn in groups(false)) {
        let answer = assign(&drawn);

        check_each_partition_has_one_subscriber_as_owner(&drawn, &answer);
        check_fair_shares(&drawn, &answer);
        for (topic, partitions) in &drawn.topics {
            let members = consumers(&drawn, topic);
            let lists = members.iter().flat_map(|(id, _)| &answer[id]).filter(|(of, _)| of == topic);
            let laid_out: Vec<i32> = lists.map(|(_, id)| *id).collect();
            let ids: Vec<i32> = partitions.keys().copied().collect();
            prop_assert!(members.is_empty() || ids == laid_out);
        }
    }

    #[test]
    fn the_order_of_members_does_not_matter(drawn in groups(true), by in any::<Index>()) {
        let mut turned = drawn.clone();
        turned.members.reverse();
        let middle = by.index(turned.members.len() + 1);
        turned.members.rotate_left(middle);

        prop_assert_eq!(assign(&drawn), assign(&turned));
    }

    #[test]
    fn static_members_keep_their_partitions_when_their_ids_change(drawn in groups(true)) {
        let mut later = drawn.clone();
        let renamed = |id: &String, place: usize| format!("{}x{id}", 9 - place);
        for (place, (id, member)) in later.members.iter_mut().enumerate() {
            if member.instance_id.is_some() {
                *id = renamed(id, place);
            }
        }
        let (before, after) = (assign(&drawn), assign(&later));

        for ((old, _), (new, _)) in drawn.members.iter().zip(&later.members) {
            prop_assert_eq!(&before[old], &after[new]);
        }
    }

    #[test]
    fn the_engine_and_the_model_agree(drawn in groups(true)) {
        prop_assert_eq!(model(&drawn), assign(&drawn));
    }
}

#[test]
fn the_model_uses_racks() {
    let on = |racks: &[&str]| racks.iter().map(|rack| (*rack).to_owned()).collect::<BTreeSet<_>>();
    let member = |rack: &str| Subscriber {
        instance_id: None,
        rack: Some(rack.to_owned()),
        topics: BTreeSet::from(["t".to_owned()]),
    };
    let drawn = Drawn {
        topics: BTreeMap::from([(
            "t".to_owned(),
            BTreeMap::from([(3, on(&["r1"])), (5, on(&["r1"])), (8, on(&["r0"]))]),
        )]),
        members: vec![("a".to_owned(), member("r0")), ("b".to_owned(), member("r1"))],
        prefer_rack_aware: false,
    };

    let expected = BTreeMap::from([
        ("a".to_owned(), vec![("t".to_owned(), 8)]),
        ("b".to_owned(), vec![("t".to_owned(), 3), ("t".to_owned(), 5)]),
    ]);
    assert_eq!(expected, model(&drawn));
    assert_eq!(expected, assign(&drawn));
}

//! Properties of the assignors that give each partition one owner, on drawn groups whose members claim arbitrary partitions.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use assignor::assign::{Assignor, GroupProtocol, Options, assign};
use assignor::group::{Group, Partitions, Racks, Topics};
use proptest::collection::{btree_map, btree_set, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

const TOPICS: [&str; 4] = ["t0", "t1", "t2", "～"];
const RACKS: [&str; 4] = ["r0", "r1", "r2", ""];

#[derive(Debug, Clone)]
struct Member {
    topics: BTreeSet<&'static str>,
    instance_id: Option<String>,
    rack: Option<&'static str>,
    /// Owned partitions by topic; topics and ids need not exist.
    owned: Vec<(&'static str, Vec<i32>)>,
    generation: Option<i32>,
    user_data: Option<Vec<u8>>,
}

#[derive(Debug, Clone)]
struct Drawn {
    /// Racks by partition id, by topic.
    topics: BTreeMap<&'static str, BTreeMap<i32, BTreeSet<&'static str>>>,
    members: BTreeMap<String, Member>,
    is_from_wire: bool,
    prefer_rack_aware: bool,
}

fn owned() -> impl Strategy<Value = Vec<(&'static str, Vec<i32>)>> {
    let id = prop_oneof![8 => -1..8_i32, 1 => any::<i32>()];
    let topic = prop_oneof![8 => select(TOPICS.to_vec()), 1 => Just("gone")];
    vec((topic, vec(id, 0..6)), 0..4)
}

/// Draw user data of `StickyAssignor`, sometimes with an invalid end, or arbitrary bytes.
fn user_data() -> impl Strategy<Value = Vec<u8>> {
    let sticky = (owned(), any::<i8>(), 0..6_usize).prop_map(|(owned, generation, missing)| {
        let mut bytes = (owned.len() as i32).to_be_bytes().to_vec();
        for (topic, ids) in owned {
            bytes.extend((topic.len() as i16).to_be_bytes());
            bytes.extend(topic.as_bytes());
            bytes.extend((ids.len() as i32).to_be_bytes());
            bytes.extend(ids.into_iter().flat_map(i32::to_be_bytes));
        }
        bytes.extend(i32::from(generation % 4).to_be_bytes());
        bytes.truncate(bytes.len() - if missing < 3 { 0 } else { missing });
        bytes
    });
    prop_oneof![3 => sticky, 1 => vec(any::<u8>(), 0..24)]
}

fn members(equal: bool) -> impl Strategy<Value = BTreeMap<String, Member>> {
    let topics = btree_set(prop_oneof![6 => select(TOPICS.to_vec()), 1 => Just("missing")], 0..5);
    let rack = option::of(select(vec!["r0", "r1", "r2", "elsewhere", ""]));
    let generation = option::of(prop_oneof![6 => 0..3_i32, 1 => any::<i32>()]);
    let member = (topics, option::of("[ab]{0,1}"), rack, owned(), generation, option::of(user_data()));
    let member = member.prop_map(|(topics, instance_id, rack, owned, generation, user_data)| Member {
        topics,
        instance_id,
        rack,
        owned,
        generation,
        user_data,
    });
    btree_map("[a-fB～😀]{0,2}", member, 0..8).prop_map(move |mut members| {
        let common = members.values().next().map(|member| member.topics.clone()).unwrap_or_default();
        for member in members.values_mut().filter(|_| equal) {
            member.topics.clone_from(&common);
        }
        members
    })
}

fn groups() -> impl Strategy<Value = Drawn> {
    let racks = btree_set(select(RACKS.to_vec()), 0..3);
    let ids = prop_oneof![4 => (0..8_i32).prop_map(|count| (0..count).collect()), 1 => btree_set(0..12_i32, 0..6)];
    let partitions = (ids, vec(racks, 12)).prop_map(|(ids, racks)| ids.into_iter().zip(racks).collect());
    let topics = btree_map(select(TOPICS.to_vec()), partitions, 0..5);
    (topics, any::<bool>().prop_flat_map(members), any::<bool>(), any::<bool>()).prop_map(
        |(topics, members, is_from_wire, prefer_rack_aware)| Drawn { topics, members, is_from_wire, prefer_rack_aware },
    )
}

fn group(drawn: &Drawn) -> Group {
    let mut racks = Racks::default();
    let mut set = |on: &BTreeSet<&str>| {
        let mut on = on.iter().map(|rack| racks.number(rack)).collect();
        racks.set(&mut on)
    };
    let listed: Vec<Vec<(i32, u32)>> =
        drawn.topics.values().map(|partitions| partitions.iter().map(|(id, on)| (*id, set(on))).collect()).collect();
    let topics: Vec<_> = drawn
        .topics
        .keys()
        .zip(listed)
        .map(|(name, listed)| (*name, Partitions::listed(name, listed, &racks).unwrap()))
        .collect();
    let mut group = Group::new(Arc::new(Topics::new(topics, racks)), 0);
    if drawn.is_from_wire {
        group.set_from_wire();
    }
    for (id, member) in &drawn.members {
        let wanted: Vec<u32> = member.topics.iter().map(|name| group.topic_number(name)).collect();
        let subscription = group.intern_subscription(&wanted);
        group.push(id, subscription, member.instance_id.as_deref(), member.rack);
        for (topic, ids) in &member.owned {
            let topic = group.owned_topic_number(topic);
            group.push_owned(topic, ids.iter().copied());
        }
        group.set_member_data(member.user_data.as_deref(), member.generation);
    }
    group
}

/// Return the partitions of each member; check that no partition is given twice.
fn answer(drawn: &Drawn, assignor: Assignor) -> BTreeMap<String, BTreeSet<(String, i32)>> {
    let options = Options { assignor, prefer_rack_aware: drawn.prefer_rack_aware };
    let plan = assign(&Arc::new(group(drawn)), options).unwrap();
    let mut given = BTreeSet::new();
    let mut found = BTreeMap::new();
    for (number, member) in plan.members().iter().enumerate() {
        let spans = plan.spans_of(number);
        let named = |topic: u32| plan.topics().get(topic as usize).to_owned();
        let partitions: Vec<_> = spans.iter().flat_map(|span| span.ids().map(|id| (named(span.topic), id))).collect();
        assert!(partitions.iter().all(|partition| given.insert(partition.clone())));
        assert_eq!(partitions.len() as i64, plan.counts()[number]);
        found.insert(member.to_owned(), partitions.into_iter().collect());
    }
    found
}

/// Return the partitions of subscribed topics.
fn wanted(drawn: &Drawn) -> BTreeSet<(String, i32)> {
    let wants = |topic: &str| drawn.members.values().any(|member| member.topics.contains(topic));
    let topics = drawn.topics.iter().filter(|(topic, _)| wants(topic));
    topics.flat_map(|(topic, partitions)| partitions.keys().map(|id| ((*topic).to_owned(), *id))).collect()
}

proptest! {
    #[test]
    fn partitions_go_to_subscribers_for_any_claims(drawn in groups()) {
        for assignor in Assignor::ALL.into_iter().filter(|assignor| assignor.protocol() != GroupProtocol::Share) {
            let found = answer(&drawn, assignor);

            prop_assert_eq!(drawn.members.len(), found.len());
            for (member, partitions) in &found {
                let topics = &drawn.members[member].topics;
                prop_assert!(partitions.iter().all(|(topic, _)| topics.contains(topic.as_str())), "{:?}", assignor);
            }
            let given: BTreeSet<_> = found.into_values().flatten().collect();
            let wanted = wanted(&drawn);
            prop_assert!(given.is_subset(&wanted), "{:?}", assignor);
            prop_assert!(given == wanted || assignor == Assignor::CooperativeSticky, "{:?}", assignor);
        }
    }

    #[test]
    fn cooperative_members_get_a_subset_of_the_sticky_answer(drawn in groups()) {
        // Without user data, both assignors read claims from the same fields.
        let mut drawn = Drawn { is_from_wire: false, ..drawn };
        drawn.members.values_mut().for_each(|member| member.user_data = None);
        let claimed = |partition: &(String, i32)| {
            let claims = |member: &Member| member.owned.iter().any(|(topic, ids)| *topic == partition.0 && ids.contains(&partition.1));
            drawn.members.values().any(claims)
        };
        let (sticky, cooperative) = (answer(&drawn, Assignor::Sticky), answer(&drawn, Assignor::CooperativeSticky));

        for (member, partitions) in &cooperative {
            prop_assert!(partitions.is_subset(&sticky[member]));
            prop_assert!(sticky[member].difference(partitions).all(claimed));
        }
    }

    #[test]
    fn members_with_equal_subscriptions_get_equal_shares(drawn in groups()) {
        let mut drawn = drawn;
        for member in drawn.members.values_mut() {
            member.topics = TOPICS.into_iter().collect();
        }
        for assignor in [Assignor::RoundRobin, Assignor::Sticky, Assignor::ServerUniform] {
            let sizes: Vec<usize> = answer(&drawn, assignor).values().map(BTreeSet::len).collect();

            let (least, most) = (sizes.iter().min().copied(), sizes.iter().max().copied());
            prop_assert!(most.unwrap_or(0) <= least.unwrap_or(0) + 1, "{:?}: {:?}", assignor, sizes);
        }
    }

    #[test]
    fn sticky_members_keep_the_partitions_that_balance_allows(drawn in groups()) {
        let mut drawn = Drawn { is_from_wire: false, prefer_rack_aware: false, ..drawn };
        for partitions in drawn.topics.values_mut() {
            partitions.values_mut().for_each(BTreeSet::clear);
        }
        for member in drawn.members.values_mut() {
            member.topics = TOPICS.into_iter().collect();
        }
        // Members own the partitions of the previous assignment.
        let (first, mut drawn_again) = (answer(&drawn, Assignor::Sticky), drawn.clone());
        let kept: BTreeMap<String, BTreeSet<(String, i32)>> = first.into_iter().skip(1).collect();
        drawn_again.members.retain(|member, _| kept.contains_key(member));
        for (member, member_data) in &mut drawn_again.members {
            member_data.user_data = None;
            member_data.generation = Some(1);
            let topic = |name: &str| TOPICS.into_iter().find(|topic| *topic == name).unwrap();
            member_data.owned = kept[member].iter().map(|(name, id)| (topic(name), vec![*id])).collect();
        }

        let second = answer(&drawn_again, Assignor::Sticky);

        // One member has left, so the others lose no partitions.
        for (member, partitions) in &kept {
            prop_assert!(partitions.is_subset(&second[member]), "{}", member);
        }
    }
}

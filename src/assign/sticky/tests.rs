//! Tests of sticky assignment: settled claims, kept partitions, and defects of Kafka that are not reproduced.

use std::sync::Arc;

use super::claims::{Claims, Source};
use crate::assign::{Assignor, Options, assign};
use crate::group::{Group, Partitions, Racks, Topics};
use crate::plan::NO_OWNER;

/// Member: id, topics, claimed partitions, generation (-1 for no generation), rack.
type Given<'a> = (&'a str, &'a [&'a str], &'a [(&'a str, &'a [i32])], i32, Option<&'a str>);

/// Member without a rack.
type Plain<'a> = (&'a str, &'a [&'a str], &'a [(&'a str, &'a [i32])], i32);

/// Build a group from topics with the racks of each partition, and members.
fn group_on_racks(topics: &[(&str, &[&[&str]])], members: &[Given<'_>]) -> Group {
    let mut racks = Racks::default();
    let mut set = |on: &&[&str]| {
        let mut on = on.iter().map(|rack| racks.number(rack)).collect();
        racks.set(&mut on)
    };
    let sets: Vec<Vec<u32>> = topics.iter().map(|(_, partitions)| partitions.iter().map(&mut set).collect()).collect();
    let listed = topics
        .iter()
        .zip(sets)
        .map(|((name, _), sets)| (*name, Partitions::listed(name, (0..).zip(sets).collect(), &racks).unwrap()));
    let topics = Topics::new(listed.collect::<Vec<_>>(), racks);
    let mut group = Group::new(Arc::new(topics), members.len());
    for (id, topics, claims, generation, rack) in members {
        let wanted: Vec<u32> = topics.iter().map(|name| group.topic_number(name)).collect();
        let subscription = group.intern_subscription(&wanted);
        group.push(id, subscription, None, *rack);
        for (topic, ids) in *claims {
            let topic = group.owned_topic_number(topic);
            group.push_owned(topic, ids.iter().copied());
        }
        group.set_member_data(None, Some(*generation).filter(|generation| *generation >= 0));
    }
    group
}

/// Build a group without racks from topics with partition counts, and members.
fn group(topics: &[(&str, usize)], members: &[Plain<'_>]) -> Group {
    let none: Vec<Vec<&[&str]>> = topics.iter().map(|(_, count)| vec![&[][..]; *count]).collect();
    let topics: Vec<_> = topics.iter().zip(&none).map(|((name, _), partitions)| (*name, &partitions[..])).collect();
    let members: Vec<Given<'_>> =
        members.iter().map(|(id, topics, claims, generation)| (*id, *topics, *claims, *generation, None)).collect();
    group_on_racks(&topics, &members)
}

/// Return the partitions of each member as `topic-id`, separated by spaces.
fn answer(group: Group, assignor: Assignor) -> Vec<String> {
    let plan = assign(&Arc::new(group), Options { assignor, ..Options::default() });
    let name = |topic: u32| plan.topics().get(topic as usize);
    let spelled = |member| {
        let spans = plan.spans_of(member);
        let partitions = spans.iter().flat_map(|span| span.ids().map(|id| format!("{}-{id}", name(span.topic))));
        partitions.collect::<Vec<_>>().join(" ")
    };
    (0..plan.members().len()).map(spelled).collect()
}

fn owners(group: &Group) -> (Vec<u32>, Vec<bool>) {
    let claims = Claims::of(group, Source::Subscription);
    let doubly_claimed = (0..claims.owners.members.len() as u32).map(|partition| claims.is_doubly_claimed(partition));
    let doubly_claimed = doubly_claimed.collect();
    (claims.owners.members, doubly_claimed)
}

#[test]
fn the_newest_claim_wins_and_claims_of_equal_generations_cancel_each_other() {
    // Table order of one-letter ids is alphabetical.
    let topics: &[&str] = &["t"];
    let members: [Plain<'_>; 3] = [
        ("a", topics, &[("t", &[0, 1, 2, 3])], 4),
        ("b", topics, &[("t", &[0, 1, 2])], 4),
        ("c", topics, &[("t", &[3, 2, 1])], 5),
    ];
    assert_eq!((vec![NO_OWNER, 2, 2, 2], vec![true, true, true, false]), owners(&group(&[("t", 4)], &members)));

    let older = [members[2], ("d", topics, &[("t", &[1])], 4), ("e", topics, &[("t", &[1])], -1)];
    assert_eq!((vec![NO_OWNER, 0, 0, 0], vec![false; 4]), owners(&group(&[("t", 4)], &older)));
}

#[test]
fn claims_of_partitions_that_do_not_exist_are_dropped() {
    let claims: &[(&str, &[i32])] =
        &[("t", &[-1, 2, 1, i32::MAX, i32::MIN]), ("gone", &[0]), ("unwanted", &[0]), ("t", &[1])];
    let group = group(&[("t", 2), ("unwanted", 1)], &[("a", &["t", "missing"], claims, 1)]);
    let settled = Claims::of(&group, Source::Subscription);

    // A member that claims a partition twice conflicts with itself.
    assert_eq!((&[1][..], vec![NO_OWNER; 3]), (settled.claimed_by(0), settled.owners.members.clone()));
    for assignor in [Assignor::Sticky, Assignor::CooperativeSticky] {
        let group = self::group(&[("t", 3)], &[("a", &["t"], &[("t", &[7, 0])], 1), ("b", &["t"], &[("t", &[9])], 1)]);
        assert_eq!(vec!["t-0 t-2", "t-1"], answer(group, assignor));
    }
}

#[test]
fn the_previous_owner_has_the_highest_generation_below_the_newest() {
    let topics: &[&str] = &["t"];
    let group = group(
        &[("t", 4)],
        &[
            ("a", topics, &[("t", &[0, 1])], 2),
            ("b", topics, &[("t", &[0, 2])], 3),
            ("c", topics, &[("t", &[2])], 3),
            ("d", topics, &[("t", &[3])], 4),
            ("e", topics, &[("t", &[1, 3])], -1),
        ],
    );

    assert_eq!(Some(vec![1, 0, 1, 4]), Claims::of(&group, Source::Subscription).previous_owners());
    let newest = self::group(&[("t", 1)], &[("a", topics, &[("t", &[0])], -1)]);
    assert_eq!(None, Claims::of(&newest, Source::Subscription).previous_owners());
}

/// Return user data with partition 0 of topic `t` and a generation.
fn user_data(generation: u8) -> Vec<u8> {
    [&b"\0\0\0\x01\0\x01t\0\0\0\x01\0\0\0\0\0\0\0"[..], &[generation]].concat()
}

#[test]
fn sticky_reads_user_data_and_compares_it_with_the_generation_field() {
    let claims = |is_from_wire: bool, members: [(Option<Vec<u8>>, Option<i32>); 2]| {
        let mut group = group(&[("t", 2)], &[]);
        if is_from_wire {
            group.set_from_wire();
        }
        for (id, (user_data, generation)) in ["a", "b"].into_iter().zip(members) {
            let subscription = group.intern_subscription(&[0]);
            group.push(id, subscription, None, None);
            group.push_owned(0, [1]);
            group.set_member_data(user_data.as_deref(), generation);
        }
        Claims::of(&group, Source::UserData).owners.members
    };

    assert_eq!(vec![0, NO_OWNER], claims(true, [(Some(user_data(5)), Some(5)), (Some(user_data(3)), Some(3))]));
    // The claim of "b" is compared with the missing generation field of "a", which counts as -1: the older claim wins.
    assert_eq!(vec![1, NO_OWNER], claims(true, [(Some(user_data(5)), None), (Some(user_data(3)), None)]));
    assert_eq!(vec![NO_OWNER; 2], claims(true, [(None, Some(5)), (Some(Vec::new()), Some(3))]));
    // A member that claims a partition twice conflicts with itself: it loses a partition that "a" also claims, and does not regain it.
    let twice = b"\0\0\0\x01\0\x01t\0\0\0\x02\0\0\0\0\0\0\0\0\0\0\0\x05".to_vec();
    assert_eq!(vec![NO_OWNER; 2], claims(true, [(Some(user_data(5)), Some(5)), (Some(twice.clone()), None)]));
    assert_eq!(vec![1, NO_OWNER], claims(true, [(None, None), (Some(twice), None)]));
    // Members that were not read from bytes and have no user data claim what they own.
    assert_eq!(vec![NO_OWNER, 0], claims(false, [(None, Some(5)), (None, Some(3))]));
    assert_eq!(vec![0, 1], claims(false, [(Some(user_data(5)), Some(5)), (None, Some(3))]));
}

#[test]
fn the_cooperative_generation_is_in_the_field_or_else_in_the_user_data() {
    let mut group = group(&[("t", 1)], &[]);
    for (id, user_data, generation) in
        [("a", vec![0, 0, 0, 9], Some(4)), ("b", vec![0, 0, 0, 5], None), ("c", vec![0, 0, 0], None)]
    {
        let subscription = group.intern_subscription(&[0]);
        group.push(id, subscription, None, None);
        group.push_owned(0, [0]);
        group.set_member_data(Some(&user_data), generation);
    }

    // "b" wins against "a". Then "c", of generation -1, is compared with the missing field of "b".
    assert_eq!((vec![NO_OWNER], vec![true]), owners(&group));
}

#[test]
fn the_first_member_in_table_order_keeps_its_extra_partition() {
    let topics: &[&str] = &["t", "u"];
    let members: [Plain<'_>; 2] =
        [("b", topics, &[("t", &[0, 1]), ("u", &[0])], 1), ("a", topics, &[("t", &[2, 3]), ("u", &[1, 2])], 1)];

    // "a" may keep all of its four partitions, "b" all of its three.
    assert_eq!(
        vec!["t-0 t-1 u-0", "t-2 t-3 u-1 u-2"],
        answer(group(&[("t", 4), ("u", 3)], &members), Assignor::Sticky)
    );
    // With "c", the first member may keep three of seven, the others two. Members keep low partition ids, "t" before "u".
    let members = [members[0], members[1], ("c", topics, &[], 1)];
    assert_eq!(
        vec!["t-0 u-0", "t-2 u-1 u-2", "t-1 t-3"],
        answer(group(&[("t", 4), ("u", 3)], &members), Assignor::Sticky)
    );
}

#[test]
fn members_with_an_empty_subscription_get_nothing() {
    for (first, second) in [("a", "b"), ("b", "a")] {
        for assignor in [Assignor::Sticky, Assignor::CooperativeSticky] {
            let group = group(&[("t", 4)], &[(first, &[], &[], -1), (second, &["t"], &[], -1)]);
            assert_eq!(vec!["", "t-0 t-1 t-2 t-3"], answer(group, assignor));
        }
    }
}

#[test]
fn a_topic_listed_twice_counts_once_in_the_comparison_of_subscriptions() {
    let group = group(&[("t", 2), ("u", 2)], &[("a", &["t", "u"], &[], -1), ("b", &["t", "t"], &[], -1)]);

    assert_eq!(vec!["u-0 u-1", "t-0 t-1"], answer(group, Assignor::Sticky));
}

#[test]
fn partitions_that_another_member_owned_are_withheld_until_it_has_given_them_up() {
    let members: &[Plain<'_>] =
        &[("a", &["t"], &[("t", &[0, 1, 2])], 1), ("b", &["t"], &[("t", &[2])], 1), ("c", &["t"], &[], 1)];

    assert_eq!(vec!["t-0 t-1", "t-2 t-4", "t-3"], answer(group(&[("t", 5)], members), Assignor::Sticky));
    // Partition 2 is claimed twice.
    assert_eq!(vec!["t-0 t-1", "t-4", "t-3"], answer(group(&[("t", 5)], members), Assignor::CooperativeSticky));
    // A new member gets a partition only after its owner has given it up.
    let members: &[Plain<'_>] = &[("a", &["t"], &[("t", &[0, 1, 2])], 1), ("b", &["t"], &[], -1)];
    assert_eq!(vec!["t-0 t-1", "t-2"], answer(group(&[("t", 3)], members), Assignor::Sticky));
    assert_eq!(vec!["t-0 t-1", ""], answer(group(&[("t", 3)], members), Assignor::CooperativeSticky));
}

#[test]
fn partitions_go_to_members_on_their_racks_and_the_rest_in_turn() {
    let topics: &[&str] = &["t"];
    let racks: &[(&str, &[&[&str]])] = &[("t", &[&["x"], &["x"], &["y"], &["z"], &["x", "y"], &[]])];
    let members = |claims: &'static [(&'static str, &'static [i32])]| {
        [("a", topics, &[][..], -1, Some("x")), ("b", topics, claims, 1, Some("y")), ("c", topics, &[][..], -1, None)]
    };

    // Partitions on rack "x" go to "a", which may have two. Partitions with few members on their racks come first.
    assert_eq!(vec!["t-0 t-1", "t-2 t-4", "t-3 t-5"], answer(group_on_racks(racks, &members(&[])), Assignor::Sticky));
    // A member gives up partitions on other racks, and may get them back.
    assert_eq!(
        vec!["t-0 t-1", "t-2 t-4", "t-3 t-5"],
        answer(group_on_racks(racks, &members(&[("t", &[0, 3])])), Assignor::Sticky)
    );
}

#[test]
fn an_assignment_does_not_depend_on_earlier_ones() {
    let members = |generation| -> [Plain<'_>; 2] {
        [("a", &["t"], &[("t", &[0, 1])], generation), ("b", &["t"], &[], generation)]
    };
    let first = answer(group(&[("t", 2)], &members(1)), Assignor::Sticky);
    answer(group(&[("t", 2)], &members(9)), Assignor::Sticky);

    assert_eq!(first, answer(group(&[("t", 2)], &members(1)), Assignor::Sticky));
}

#[test]
fn balancing_ends_where_kafka_loops_forever() {
    // Member e has joined. In Kafka, partition 0 of t0 moves from b to d and back forever.
    let group = group(
        &[("t0", 3), ("t1", 6), ("t2", 5)],
        &[
            ("a", &["t1", "t2"], &[("t2", &[1, 2, 4]), ("t1", &[0, 4, 5])], 5),
            ("b", &["t0", "t1"], &[("t0", &[0])], 5),
            ("c", &["t1", "t2"], &[("t2", &[0, 3]), ("t1", &[1, 2, 3])], 5),
            ("d", &["t0"], &[("t0", &[1, 2])], 5),
            ("e", &["t0", "t1", "t2"], &[], 5),
        ],
    );

    let sizes: Vec<usize> = answer(group, Assignor::Sticky).iter().map(|member| member.split(' ').count()).collect();

    assert_eq!(vec![3, 3, 3, 2, 3], sizes);
}

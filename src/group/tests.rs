//! Tests of groups: order of members, subscriptions, topic ids and reported values.

use super::*;

fn group() -> Group {
    let topics = [("t", Partitions::counted(1)), ("u", Partitions::counted(2))];
    Group::new(Arc::new(Topics::new(topics, Racks::default())), 0)
}

#[test]
fn static_members_come_first_and_equal_instance_ids_keep_the_given_order() {
    let mut group = group();
    for (id, instance_id) in
        [("e", None), ("d", Some("y")), ("c", Some("")), ("b", None), ("a", Some("y")), ("f", Some("x"))]
    {
        group.push(id, 0, instance_id, None);
    }

    let ordered: Vec<&str> = group.order().iter().map(|member| group.members().get(*member as usize)).collect();

    assert_eq!(vec!["c", "f", "d", "a", "b", "e"], ordered);
}

#[test]
fn a_topic_that_does_not_exist_is_part_of_a_subscription_but_not_one_of_its_topics() {
    let mut group = group();
    let numbers: Vec<u32> = ["v", "u", "w", "v"].map(|name| group.topic_number(name)).to_vec();

    let given = group.intern_subscription(&numbers);
    group.push("a", given, None, None);
    let subscription = group.subscription_of(0);

    assert_eq!([1], group.topics_of(subscription));
    assert_eq!(vec!["u", "v", "w"], group.names_of(subscription).collect::<Vec<_>>());
    assert_ne!(subscription, group.intern_subscription(&[1]));
}

#[test]
fn members_with_the_same_topics_in_another_order_share_a_subscription_and_keep_their_order() {
    let mut group = group();
    let lists = [&[0, 1][..], &[1, 0], &[1, 0], &[1, 0, 1], &[1, 0], &[0, 1], &[0, 1]];
    for (id, topics) in ["a", "b", "c", "d", "e", "f", "g"].into_iter().zip(lists) {
        let given = group.intern_subscription(topics);
        group.push(id, given, None, None);
    }

    assert_eq!([0; 7], [0, 1, 2, 3, 4, 5, 6].map(|member| group.subscription_of(member)));
    assert_eq!(lists, [0, 1, 2, 3, 4, 5, 6].map(|member| group.topics_as_given(member)));
}

#[test]
fn members_added_together_are_those_added_one_by_one() {
    let mut racks = Racks::default();
    racks.number("r");
    let topics = Arc::new(Topics::new([("t", Partitions::counted(1)), ("u", Partitions::counted(1))], racks));
    let (mut together, mut one_by_one) = (Group::new(Arc::clone(&topics), 0), Group::new(topics, 0));
    let racks = [None, Some("r"), Some("other"), Some("")];
    for group in [&mut together, &mut one_by_one] {
        let given = group.intern_subscription(&[1, 0]);
        group.push("z", given, None, Some("r"));
    }

    let names: Names = ["b", "a", "d", "c"].into_iter().collect();
    together.push_all(names.clone(), [0; 4], racks.into_iter());
    names.iter().zip(racks).for_each(|(name, rack)| one_by_one.push(name, 0, None, rack));

    assert_eq!(one_by_one.members(), together.members());
    assert_eq!((one_by_one.order(), None), (together.order(), together.first_duplicate()));
    for member in 0..5 {
        assert_eq!(one_by_one.rack_of(member), together.rack_of(member));
        assert_eq!(one_by_one.field_sizes(member), together.field_sizes(member));
        assert_eq!(one_by_one.topics_as_given(member), together.topics_as_given(member));
    }
}

#[test]
fn the_first_member_with_the_id_of_an_earlier_one_is_found() {
    let mut group = group();
    for id in ["b", "c", "a", "c", "b"] {
        group.push(id, 0, None, None);
    }

    assert_eq!(Some(3), group.first_duplicate());
}

#[test]
fn topics_without_an_id_get_one_from_their_name() {
    let mut group = group();
    assert_eq!(0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964, topic_id_of_name("a")); // published test value of FNV-1a
    assert_eq!(topic_id_of_name("u"), group.topic_id(1));

    group.set_topic_id(1, 7);

    assert_eq!((topic_id_of_name("t"), 7), (group.topic_id(0), group.topic_id(1)));
}

#[test]
fn a_group_stores_the_values_that_a_member_reports() {
    let mut racks = Racks::default();
    racks.number("r");
    let mut group = Group::new(Arc::new(Topics::new([("t", Partitions::counted(1))], racks)), 4);
    group.push("a", 0, None, None);
    group.push("b", 0, None, Some("r"));
    for (topic, ids) in [("t", vec![0, 2]), ("absent", vec![1])] {
        let topic = group.owned_topic_number(topic);
        group.push_owned(topic, ids);
    }
    group.set_member_data(Some(&[0; 3]), Some(4));
    group.push("c", 0, None, Some(""));
    group.push("d", 0, None, Some("other"));

    let member_racks: Vec<MemberRack> = (0..4).map(|member| group.rack_of(member)).collect();

    assert_eq!(
        vec![MemberRack::Unset, MemberRack::WithReplicas(0), MemberRack::Unset, MemberRack::WithoutReplicas],
        member_racks
    );
    let data = group.member_data(1).unwrap();
    assert_eq!((Some(&[0; 3][..]), Some(4)), (data.user_data, data.generation));
    assert_eq!(vec![(0, &[0, 2][..]), (1, &[1])], data.owned().collect::<Vec<_>>());
    assert_eq!((None, 0), (group.member_data(0), group.absent().len()));
    let expected = FieldSizes { user_data: 3, owned_partitions: 2 + 1 + 4 + 8 + 2 + 6 + 4 + 4, rack: 1 };
    assert_eq!(expected, group.field_sizes(1));
    assert_eq!((FieldSizes::default(), 5), (group.field_sizes(2), group.field_sizes(3).rack));
}

//! Tests of groups: order of members, subscriptions, topic ids and reported values.

use super::*;

fn group() -> Group {
    let topics = [("t", Partitions::counted(1)), ("u", Partitions::counted(2))];
    Group::new(Arc::new(Topics::new(topics, Racks::default())), 0)
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
fn topics_without_an_id_get_one_from_their_name() {
    let mut group = group();
    assert_eq!(0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964, topic_id_of_name("a")); // published test value of FNV-1a
    assert_eq!(topic_id_of_name("u"), group.topic_id(1));

    group.set_topic_id(1, 7);

    assert_eq!((topic_id_of_name("t"), 7), (group.topic_id(0), group.topic_id(1)));
}

#[test]
fn deleted_topics_that_members_own_have_ids() {
    let mut group = group();
    assert_eq!(None, group.known_owned_topic_number("deleted"));

    let deleted = group.owned_topic_number("deleted");
    assert_eq!(
        (Some(deleted), Some(1)),
        (group.known_owned_topic_number("deleted"), group.known_owned_topic_number("u"))
    );
    assert_eq!(topic_id_of_name("deleted"), group.topic_id(deleted));

    group.set_topic_id(deleted, 7);
    group.set_topic_id(1, 8);

    assert_eq!((7, 8), (group.topic_id(deleted), group.topic_id(1)));
}

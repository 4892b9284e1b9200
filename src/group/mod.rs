//! A group as the engine sees it: topics and members as dense numbers, equal subscriptions interned once.
//!
//! A *class* is a set of topics that some members subscribe to; every member is of exactly one class. An *audience* is the
//! set of classes that subscribe to a topic: topics with the same audience have the same consumers in the same order, so
//! the members are sorted once and ranked once per audience, never per topic.

mod audience;
mod names;
mod sets;
mod topics;

use std::sync::{Arc, OnceLock};

pub use audience::Audiences;
pub use names::{NameTable, Names, java_order};
pub use sets::{Lists, Sets};
pub use topics::{Ids, Partitions, Racks, Topics};

/// Where a member is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// It does not say: every replica is as near as any other.
    Anywhere,
    /// On the rack of that number.
    On(u32),
    /// On a rack that no replica is on.
    Elsewhere,
}

/// What a member's subscription holds besides topics, in bytes of the wire format.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Extra {
    /// The user data.
    pub user_data: usize,
    /// The partitions that it says it owns.
    pub owned_partitions: usize,
    /// The rack.
    pub rack: usize,
}

/// Topics and members with everything interned: what an assignor works on.
#[derive(Debug, Default)]
pub struct Group {
    topics: Arc<Topics>,
    /// Names that members subscribe to and that are no topics; they are numbered on from the topics.
    absent: Names,
    absent_numbers: NameTable,
    members: Names,
    /// Per member its class.
    class_of: Vec<u32>,
    classes: Sets,
    /// Static members with their instance ids, by member.
    instance_ids: Vec<(u32, String)>,
    /// Per member; empty as long as all are anywhere.
    places: Vec<Place>,
    /// Per rack the one that came after it last time: members are spread over racks in turn.
    next_rack: Vec<u32>,
    last_rack: u32,
    /// Members of which there is more to say, by member.
    extras: Vec<(u32, Extra)>,
    order: OnceLock<Vec<u32>>,
}

impl Group {
    /// A group without members, with room for so many.
    #[must_use]
    pub fn new(topics: Arc<Topics>, members: usize) -> Self {
        Self {
            topics,
            members: Names::with_capacity(members),
            class_of: Vec::with_capacity(members),
            ..Self::default()
        }
    }

    /// The number of a name that members may subscribe to, be it a topic or not.
    pub fn topic_number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.topics.number(name) {
            return number;
        }
        let new = self.absent.len() as u32;
        let number = self.absent_numbers.number_or_insert(&self.absent, name, new);
        if number == new {
            self.absent.push(name);
        }
        self.topics.len() as u32 + number
    }

    /// The class of the members that subscribe to these topics, given by number in any order, repetitions allowed.
    pub fn class(&mut self, topics: &mut Vec<u32>) -> u32 {
        self.classes.number(topics)
    }

    /// A class of its own for a member that subscribes to these topics, be there an equal one or not.
    pub fn class_apart(&mut self, topics: &mut Vec<u32>) -> u32 {
        self.classes.push(topics)
    }

    /// Adds a member; static if it has an instance id, `""` being one too, and on no rack if that is `""`.
    pub fn push(&mut self, id: &str, class: u32, instance_id: Option<&str>, rack: Option<&str>) {
        let member = self.members.len() as u32;
        self.members.push(id);
        self.class_of.push(class);
        if let Some(instance_id) = instance_id {
            self.instance_ids.push((member, instance_id.to_owned()));
        }
        let rack = rack.filter(|rack| !rack.is_empty());
        let place = rack.map_or(Place::Anywhere, |rack| self.place_on(rack));
        if place != Place::Anywhere || !self.places.is_empty() {
            self.places.resize(member as usize, Place::Anywhere);
            self.places.push(place);
        }
        if let Some(rack) = rack {
            self.note_extra(Extra { rack: rack.len(), ..Extra::default() });
        }
    }

    fn place_on(&mut self, rack: &str) -> Place {
        let racks = self.topics.racks();
        if let Some(next) = self.next_rack.get(self.last_rack as usize)
            && racks.name(*next) == rack
        {
            self.last_rack = *next;
            return Place::On(*next);
        }
        let Some(number) = racks.known(rack) else { return Place::Elsewhere };
        self.next_rack.resize(racks.len(), number);
        self.next_rack[self.last_rack as usize] = number;
        self.last_rack = number;
        Place::On(number)
    }

    /// Notes what the subscription of the member added last holds besides topics.
    pub fn note_extra(&mut self, extra: Extra) {
        let last = (self.members.len() - 1) as u32;
        match self.extras.last_mut() {
            Some((member, noted)) if *member == last => {
                *noted = Extra { rack: noted.rack.max(extra.rack), ..extra };
            }
            _ => self.extras.push((last, extra)),
        }
    }

    /// The topics.
    #[must_use]
    pub fn topics(&self) -> &Arc<Topics> {
        &self.topics
    }

    /// The ids of the members, in the order given.
    #[must_use]
    pub fn members(&self) -> &Names {
        &self.members
    }

    /// The distinct subscriptions, numbers of topics and of absent ones.
    #[must_use]
    pub fn classes(&self) -> &Sets {
        &self.classes
    }

    /// The topics of a class; absent ones left out.
    #[must_use]
    pub fn topics_of(&self, class: u32) -> &[u32] {
        let wanted = self.classes.get(class);
        &wanted[..wanted.partition_point(|topic| (*topic as usize) < self.topics.len())]
    }

    /// The names of a class: topics in Java's order, then absent ones.
    pub fn names_of(&self, class: u32) -> impl Iterator<Item = &str> {
        let topics = self.topics.len();
        self.classes.get(class).iter().map(move |number| match (*number as usize).checked_sub(topics) {
            None => self.topics.names().get(*number as usize),
            Some(absent) => self.absent.get(absent),
        })
    }

    /// The names that members subscribe to and that are no topics, each once.
    #[must_use]
    pub fn absent(&self) -> &Names {
        &self.absent
    }

    /// How many members each class has.
    #[must_use]
    pub fn class_sizes(&self) -> Vec<u32> {
        let mut sizes = vec![0; self.classes.len()];
        for class in &self.class_of {
            sizes[*class as usize] += 1;
        }
        sizes
    }

    /// The class of a member.
    #[must_use]
    pub fn class_of(&self, member: usize) -> u32 {
        self.class_of[member]
    }

    /// The instance id of a member.
    #[must_use]
    pub fn instance_id(&self, member: usize) -> Option<&str> {
        let found = self.instance_ids.binary_search_by_key(&(member as u32), |(member, _)| *member).ok()?;
        Some(&self.instance_ids[found].1)
    }

    /// Where a member is.
    #[must_use]
    pub fn place(&self, member: usize) -> Place {
        self.places.get(member).copied().unwrap_or(Place::Anywhere)
    }

    /// Whether racks may have a say: some replica is on one.
    #[must_use]
    pub fn has_racks(&self) -> bool {
        !self.topics.racks().is_empty()
    }

    /// Whether some member is on a rack that replicas are on, too.
    pub(crate) fn has_places(&self) -> bool {
        self.places.iter().any(|place| matches!(place, Place::On(_)))
    }

    /// What there is besides topics in the subscription of a member.
    #[must_use]
    pub fn extra(&self, member: usize) -> Extra {
        let found = self.extras.binary_search_by_key(&(member as u32), |(member, _)| *member);
        found.map(|found| self.extras[found].1).unwrap_or_default()
    }

    /// The members in Kafka's order: static ones by instance id, then dynamic ones by member id; equal ones as given.
    #[must_use]
    pub fn order(&self) -> &[u32] {
        self.order.get_or_init(|| {
            if self.instance_ids.is_empty() {
                return names::sorted_by_name(self.members.len(), |member| self.members.get(member as usize));
            }
            let by_instance_id =
                names::sorted_by_name(self.instance_ids.len(), |number| &self.instance_ids[number as usize].1);
            let mut order: Vec<u32> =
                by_instance_id.into_iter().map(|number| self.instance_ids[number as usize].0).collect();
            let is_dynamic = |member: &u32| self.instance_id(*member as usize).is_none();
            let dynamic: Vec<u32> = (0..self.members.len() as u32).filter(is_dynamic).collect();
            let by_id =
                names::sorted_by_name(dynamic.len(), |number| self.members.get(dynamic[number as usize] as usize));
            order.extend(by_id.into_iter().map(|number| dynamic[number as usize]));
            order
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group() -> Group {
        let topics = [("t", Partitions::counted(1)), ("u", Partitions::counted(2))];
        Group::new(Arc::new(Topics::new(topics, Racks::default())), 0)
    }

    #[test]
    fn static_members_come_first_and_equal_instance_ids_keep_the_order_given() {
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
    fn a_topic_that_does_not_exist_makes_another_class_but_is_not_among_its_topics() {
        let mut group = group();
        let mut numbers: Vec<u32> = ["v", "u", "w", "v"].map(|name| group.topic_number(name)).to_vec();

        let class = group.class(&mut numbers);

        assert_eq!([1], group.topics_of(class));
        assert_eq!(vec!["u", "v", "w"], group.names_of(class).collect::<Vec<_>>());
        assert_ne!(class, group.class(&mut vec![1]));
    }

    #[test]
    fn a_class_apart_is_not_that_of_an_equal_subscription() {
        let mut group = group();

        let classes = [vec![1, 0], vec![0, 1, 0]].map(|mut topics| group.class_apart(&mut topics));

        assert_eq!([0, 1], classes);
        assert_eq!(vec![&[0, 1], &[0, 1]], classes.map(|class| group.topics_of(class)));
    }

    #[test]
    fn what_is_known_of_a_member_stays_with_it() {
        let mut racks = Racks::default();
        racks.number("r");
        let mut group = Group::new(Arc::new(Topics::new([("t", Partitions::counted(1))], racks)), 4);
        group.push("a", 0, None, None);
        group.push("b", 0, None, Some("r"));
        group.note_extra(Extra { user_data: 3, ..Extra::default() });
        group.push("c", 0, None, Some(""));
        group.push("d", 0, None, Some("other"));

        let places: Vec<Place> = (0..4).map(|member| group.place(member)).collect();

        assert_eq!(vec![Place::Anywhere, Place::On(0), Place::Anywhere, Place::Elsewhere], places);
        assert_eq!(Extra { user_data: 3, owned_partitions: 0, rack: 1 }, group.extra(1));
        assert_eq!((Extra::default(), 5), (group.extra(2), group.extra(3).rack));
    }
}

//! Audiences: who consumes which topics, with every consumer's rank among them.

use super::sets::{Lists, Sets};
use super::{Group, Topics};

/// Stands for no audience.
const NONE: u32 = u32::MAX;

/// The consumers of all topics, ranked: a topic has an audience, an audience has classes, a member a rank in each audience
/// of its class.
#[derive(Debug, Default)]
pub struct Audiences {
    /// Per topic its audience.
    of_topic: Vec<u32>,
    /// Per audience its topics, ascending.
    topics: Lists,
    /// Per audience its classes.
    classes: Sets,
    /// Per audience how many consumers it has.
    sizes: Vec<u32>,
    /// Per class its audiences, ascending.
    of_class: Lists,
    /// The ranks of the members, one after the other; each in the order of its class's audiences.
    ranks: Vec<u32>,
    /// Per member where its ranks begin; None where each has just one.
    starts: Option<Vec<usize>>,
}

impl Audiences {
    /// Ranks the members of a group; topics without partitions or consumers have no audience.
    #[must_use]
    pub fn of(group: &Group) -> Self {
        if group.classes.len() == 1 && !group.class_of.is_empty() {
            return Self::of_one_class(group);
        }
        let members_of_class = group.class_sizes();
        let mut found = Self::sort_topics(group.topics(), &classes_of_topics(group, &members_of_class));
        let sum = |classes: &[u32]| classes.iter().map(|class| members_of_class[*class as usize]).sum();
        found.sizes = found.classes.all().iter().map(sum).collect();
        let pairs = (0..found.sizes.len() as u32)
            .flat_map(|audience| found.classes.get(audience).iter().map(move |class| (*class, audience)));
        found.of_class = Lists::by_key(group.classes.len(), pairs);
        found.rank(group);
        found
    }

    /// The same for the many groups whose members all subscribe to the same topics.
    fn of_one_class(group: &Group) -> Self {
        let partitions = group.topics().partitions();
        let is_there = |topic: &&u32| !partitions[**topic as usize].ids.is_empty();
        let topics: Vec<u32> = group.topics_of(0).iter().filter(is_there).copied().collect();
        let mut found = Self { of_topic: vec![NONE; partitions.len()], ..Self::default() };
        if topics.is_empty() {
            found.of_class.push(&[]);
            found.starts = Some(vec![0; group.class_of.len()]);
            return found;
        }
        for topic in &topics {
            found.of_topic[*topic as usize] = 0;
        }
        found.topics.push(&topics);
        found.classes.number_of(&[0]);
        found.of_class.push(&[0]);
        found.sizes.push(group.class_of.len() as u32);
        found.ranks = vec![0; group.class_of.len()];
        for (rank, member) in (0..).zip(group.order()) {
            found.ranks[*member as usize] = rank;
        }
        found
    }

    /// Gives topics of the same classes the same audience.
    fn sort_topics(topics: &Topics, classes_of_topic: &Lists) -> Self {
        let mut found = Self { of_topic: vec![NONE; topics.len()], ..Self::default() };
        let mut last = NONE;
        for (topic, classes) in classes_of_topic.iter().enumerate() {
            if classes.is_empty() {
                continue;
            }
            if last == NONE || found.classes.get(last) != classes {
                last = found.classes.number_of(classes);
            }
            found.of_topic[topic] = last;
        }
        let of_topic = found.of_topic.iter().enumerate().filter(|(_, audience)| **audience != NONE);
        found.topics = Lists::by_key(found.classes.len(), of_topic.map(|(topic, audience)| (*audience, topic as u32)));
        found
    }

    /// Goes through the members in Kafka's order and gives each the next rank of each of its audiences.
    fn rank(&mut self, group: &Group) {
        let mut end = 0;
        let mut starts = Vec::with_capacity(group.class_of.len());
        for class in &group.class_of {
            starts.push(end);
            end += self.of_class.get(*class as usize).len();
        }
        self.ranks = vec![0; end];
        let mut next = vec![0; self.sizes.len()];
        for member in group.order() {
            let audiences = self.of_class.get(group.class_of[*member as usize] as usize);
            let start = starts[*member as usize];
            for (rank, audience) in self.ranks[start..].iter_mut().zip(audiences) {
                *rank = next[*audience as usize];
                next[*audience as usize] += 1;
            }
        }
        self.starts = Some(starts);
    }

    /// The audience of a topic; None when nobody subscribes or the topic has no partitions.
    #[must_use]
    pub fn of_topic(&self, topic: usize) -> Option<u32> {
        Some(self.of_topic[topic]).filter(|audience| *audience != NONE)
    }

    /// How many audiences there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.sizes.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.sizes.is_empty()
    }

    /// How many consumers an audience has.
    #[must_use]
    pub fn size(&self, audience: u32) -> usize {
        self.sizes[audience as usize] as usize
    }

    /// The topics of an audience, ascending.
    #[must_use]
    pub fn topics(&self, audience: u32) -> &[u32] {
        self.topics.get(audience as usize)
    }

    /// The audiences of a class, ascending.
    #[must_use]
    pub fn of_class(&self, class: u32) -> &[u32] {
        self.of_class.get(class as usize)
    }

    /// The ranks of a member, in the order of the audiences of its class.
    #[must_use]
    pub fn ranks(&self, group: &Group, member: usize) -> &[u32] {
        let start = self.starts.as_ref().map_or(member, |starts| starts[member]);
        &self.ranks[start..start + self.of_class(group.class_of(member)).len()]
    }

    /// Per audience its consumers by rank.
    #[must_use]
    pub fn consumers(&self, group: &Group) -> Lists {
        let pairs = group.order().iter().flat_map(|member| {
            self.of_class(group.class_of(*member as usize)).iter().map(move |audience| (*audience, *member))
        });
        Lists::by_key(self.len(), pairs)
    }
}

/// Per topic the classes with members that subscribe to it, ascending; none for a topic without partitions.
fn classes_of_topics(group: &Group, members_of_class: &[u32]) -> Lists {
    let partitions = group.topics().partitions();
    let classes = (0..group.classes.len() as u32).filter(|class| members_of_class[*class as usize] > 0);
    let pairs = classes.flat_map(|class| {
        let wanted = group.topics_of(class).iter().filter(|topic| !partitions[**topic as usize].ids.is_empty());
        wanted.map(move |topic| (*topic, class))
    });
    Lists::by_key(partitions.len(), pairs)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::{Partitions, Racks};
    use super::*;

    #[test]
    fn topics_of_the_same_subscribers_share_an_audience_in_which_members_rank_by_order() {
        let topics = ["t", "u", "v", "w", "x"].map(|name| (name, Partitions::counted(u32::from(name != "w"))));
        let mut group = Group::new(Arc::new(Topics::new(topics, Racks::default())), 0);
        let all = group.class(&mut vec![0, 1, 2, 3]);
        let some = group.class(&mut vec![1]);
        group.class(&mut vec![4]);
        for (id, class) in [("c", all), ("b", some), ("a", all)] {
            group.push(id, class, None, None);
        }

        let audiences = Audiences::of(&group);

        let of_topic: Vec<_> = (0..5).map(|topic| audiences.of_topic(topic)).collect();
        assert_eq!(vec![Some(0), Some(1), Some(0), None, None], of_topic);
        assert_eq!((2, 3), (audiences.size(0), audiences.size(1)));
        assert_eq!((&[0, 2][..], &[1][..]), (audiences.topics(0), audiences.topics(1)));
        let ranks: Vec<_> = (0..3).map(|member| audiences.ranks(&group, member)).collect();
        assert_eq!(vec![&[1, 2][..], &[1], &[0, 0]], ranks);
        assert_eq!(vec![&[2, 0][..], &[2, 1, 0]], audiences.consumers(&group).iter().collect::<Vec<_>>());
    }
}

//! Values that members report besides their topics: owned partitions, generation and user data.
//!
//! Range reads none of these values. Sticky assignors read them, and the size of a group's record depends on them. A group stores the
//! values of all members in shared arrays; members that report nothing take no memory.

use rustc_hash::FxHashSet;

/// Values of a member's subscription besides topics, instance id and rack.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemberData<'a> {
    /// User data of the member's assignor; empty and absent are different.
    pub user_data: Option<&'a [u8]>,
    /// The generation in which the member got its owned partitions.
    pub generation: Option<i32>,
    /// Per run of ids of one topic, in the order given, the topic's number and the number of ids.
    topics: &'a [(u32, u32)],
    /// The ids of owned partitions, run by run.
    ids: &'a [i32],
}

impl<'a> MemberData<'a> {
    /// Return the owned partitions as (topic number, ids), in the order given.
    pub fn owned(self) -> impl Iterator<Item = (u32, &'a [i32])> {
        let mut rest = self.ids;
        self.topics.iter().map(move |(topic, count)| {
            let (ids, others) = rest.split_at(*count as usize);
            rest = others;
            (*topic, ids)
        })
    }

    /// Return the sizes of these values, without the rack; `name_length` returns the length of a topic's name in bytes.
    pub(super) fn sizes(self, name_length: impl Fn(u32) -> usize) -> FieldSizes {
        // An encoded subscription has each topic once, but here a topic may have several runs.
        let topics: FxHashSet<u32> = self.topics.iter().map(|(topic, _)| *topic).collect();
        let of_topic = |topic| 2 + name_length(topic) + 4;
        FieldSizes {
            user_data: self.user_data.map_or(0, <[u8]>::len),
            owned_partitions: topics.into_iter().map(of_topic).sum::<usize>() + 4 * self.ids.len(),
            rack: 0,
        }
    }
}

/// Ends of a member's values in the arrays; they start at the ends of the previous row.
#[derive(Debug, Clone, Copy, Default)]
struct Row {
    member: u32,
    generation: Option<i32>,
    has_user_data: bool,
    topics: usize,
    ids: usize,
    user_data: usize,
}

/// Values of all members that report any.
#[derive(Debug, Default)]
pub(super) struct MemberDataTable {
    /// Ascending by member.
    rows: Vec<Row>,
    topics: Vec<(u32, u32)>,
    ids: Vec<i32>,
    user_data: Vec<u8>,
}

impl MemberDataTable {
    /// Add ids of a topic that the next member owns.
    pub(super) fn push_owned(&mut self, topic: u32, ids: impl IntoIterator<Item = i32>) {
        let before = self.ids.len();
        self.ids.extend(ids);
        self.topics.push((topic, (self.ids.len() - before) as u32));
    }

    /// Add one id of a topic that the next member owns; ids of one topic that are added one after another form one run.
    #[inline]
    pub(super) fn push_owned_id(&mut self, topic: u32, id: i32) {
        self.ids.push(id);
        let first = self.rows.last().map_or(0, |row| row.topics);
        match self.topics[first..].last_mut() {
            Some((last, count)) if *last == topic => *count += 1,
            _ => self.topics.push((topic, 1)),
        }
    }

    /// Set the other values of a member, which then owns the partitions added since the previous member.
    pub(super) fn finish(&mut self, member: u32, user_data: Option<&[u8]>, generation: Option<i32>) {
        let owns = self.topics.len() > self.rows.last().map_or(0, |row| row.topics);
        if user_data.is_none() && generation.is_none() && !owns {
            return;
        }
        if let Some(user_data) = user_data {
            self.user_data.extend_from_slice(user_data);
        }
        self.rows.push(Row {
            member,
            generation,
            has_user_data: user_data.is_some(),
            topics: self.topics.len(),
            ids: self.ids.len(),
            user_data: self.user_data.len(),
        });
    }

    /// Return the values of a member; None if it reports nothing.
    pub(super) fn get(&self, member: usize) -> Option<MemberData<'_>> {
        // In most groups all members report something, or all except the last ones.
        let place = match self.rows.get(member) {
            Some(row) if row.member as usize == member => member,
            _ => self.rows.binary_search_by_key(&(member as u32), |row| row.member).ok()?,
        };
        let before = place.checked_sub(1).map_or(Row::default(), |place| self.rows[place]);
        Some(self.data(&before, &self.rows[place]))
    }

    /// Iterate over the members that report something, with their values.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, MemberData<'_>)> {
        let mut before = Row::default();
        self.rows.iter().map(move |row| (row.member, self.data(&std::mem::replace(&mut before, *row), row)))
    }

    /// Return true if a member owns partitions.
    pub(super) fn has_owned(&self) -> bool {
        !self.topics.is_empty()
    }

    fn data(&self, before: &Row, row: &Row) -> MemberData<'_> {
        MemberData {
            user_data: row.has_user_data.then(|| &self.user_data[before.user_data..row.user_data]),
            generation: row.generation,
            topics: &self.topics[before.topics..row.topics],
            ids: &self.ids[before.ids..row.ids],
        }
    }
}

/// Sizes in bytes of fields of a `ConsumerProtocol` subscription, without the lengths that precede them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FieldSizes {
    /// The user data.
    pub user_data: usize,
    /// The owned partitions: the names of topics and the lists of ids, both with their lengths.
    pub owned_partitions: usize,
    /// The rack.
    pub rack: usize,
}

//! Reader of a column of groups: structs of cluster, group, members, and the current assignment.

use std::borrow::Cow;

use arrow_array::{Array, ArrayRef, Int32Array};
use pyo3::prelude::*;
use rustc_hash::FxHashMap;

use super::arrays::{field, lists, numbers, optional, rows, text_lists, texts};
use super::clusters::{ClusterColumn, InvalidTopics};
use super::reasons::Reasons;
use crate::assign::GroupProtocol;
use crate::fleet::{
    AssignorNames, Cluster, GroupFacts, MemberFacts, NotComputed, OwnedSpan, Roster, RosterMember, RosterSubscription,
    assignor_of, reads_owned,
};
use crate::matching::dialect::Dialect;
use crate::python::imports::IllegalArgumentError;
use crate::python::read::arrow_types::{Lists, TextLists, Texts};
use crate::python::read::pattern_column::{PatternColumn, split};
use crate::python::read::patterns::unknown_dialect;
use crate::wire::{Client, Library, Unconvertible};

/// Column of groups.
pub(crate) struct GroupColumn {
    clusters: Texts,
    group_ids: Texts,
    members: Lists,
    ids: Texts,
    instance_ids: Option<Texts>,
    racks: Option<Texts>,
    topics: Option<TextLists>,
    patterns: Option<PatternColumn>,
    dialects: Option<Texts>,
    assignors: Option<Texts>,
    group_protocols: Option<Texts>,
    generations: Option<Int32Array>,
    libraries: Option<Texts>,
    library_versions: Option<Texts>,
    conversion_problems: Option<Texts>,
    member_protocol_types: Option<Texts>,
    /// Why the row of a member cannot be read.
    unreadable: Option<Texts>,
    protocol_types: Option<Texts>,
    current: Option<CurrentAssignment>,
}

/// Current assignment of the members.
struct CurrentAssignment {
    groups: Lists,
    members: Texts,
    topics: Texts,
    starts: Int32Array,
    counts: Int32Array,
    /// Why a row cannot be read.
    unreadable: Option<Texts>,
}

impl GroupColumn {
    pub(crate) fn read(given: &ArrayRef) -> PyResult<Self> {
        let given = rows(given, "groups")?;
        let members = lists(&field(&given, "members", "groups")?, "members")?;
        let of_members = rows(&members.items, "members")?;
        let current = |column: &ArrayRef, name: &str| {
            let groups = lists(column, name)?;
            let each = rows(&groups.items, name)?;
            Ok(CurrentAssignment {
                members: texts(&field(&each, "member_id", name)?, "member_id")?,
                topics: texts(&field(&each, "topic", name)?, "topic")?,
                starts: numbers(&field(&each, "start", name)?, "start")?,
                counts: numbers(&field(&each, "count", name)?, "count")?,
                unreadable: optional(&each, "unreadable", texts)?,
                groups,
            })
        };
        Ok(Self {
            clusters: texts(&field(&given, "cluster", "groups")?, "cluster")?,
            group_ids: texts(&field(&given, "group_id", "groups")?, "group_id")?,
            ids: texts(&field(&of_members, "member_id", "members")?, "member_id")?,
            instance_ids: optional(&of_members, "group_instance_id", texts)?,
            racks: optional(&of_members, "rack", texts)?,
            topics: optional(&of_members, "topics", text_lists)?,
            patterns: optional(&of_members, "pattern", |column, name| {
                PatternColumn::read(column, |column| texts(column, name), |column| text_lists(column, name))
            })?,
            dialects: optional(&of_members, "dialect", texts)?,
            assignors: optional(&of_members, "assignor", texts)?,
            group_protocols: optional(&of_members, "group_protocol", texts)?,
            generations: optional(&of_members, "generation", numbers)?,
            libraries: optional(&of_members, "library", texts)?,
            library_versions: optional(&of_members, "library_version", texts)?,
            conversion_problems: optional(&of_members, "conversion_problem", texts)?,
            member_protocol_types: optional(&of_members, "protocol_type", texts)?,
            unreadable: optional(&of_members, "unreadable", texts)?,
            protocol_types: optional(&given, "protocol_type", texts)?,
            current: optional(&given, "current", current)?,
            members,
        })
    }

    pub(crate) fn len(&self) -> usize {
        self.members.len()
    }

    /// Read one of the groups, without the members that `reasons` lists.
    pub(crate) fn group<'a>(
        &'a self,
        row: usize,
        clusters: &'a ClusterColumn,
        reasons: &mut Reasons,
    ) -> PyResult<GroupRow<'a>> {
        let (cluster, group_id) = (self.clusters.get(row), self.group_ids.get(row));
        let mut read = GroupRow {
            groups: self,
            row,
            cluster_name: cluster.unwrap_or_default(),
            cluster: clusters.get(cluster.unwrap_or_default()),
            invalid_topics: clusters.invalid_topics(cluster.unwrap_or_default()),
            group_id: group_id.unwrap_or_default(),
            roster: Roster::default(),
            not_computed: None,
            unnamed_members: 0,
        };
        let members = self.members.get(row).unwrap_or_default();
        if cluster.is_none() || group_id.is_none() {
            read.unnamed_members = members.len();
            return Ok(read);
        }
        let mut subscriptions = SubscriptionReader::new(self, &read, clusters);
        let mut roster = Vec::with_capacity(members.len());
        for member in members {
            let Some(id) = self.ids.get(member) else {
                read.unnamed_members += 1;
                continue;
            };
            let optional = |column: &'a Option<Texts>| column.as_ref().and_then(|column| column.get(member));
            let readable = optional(&self.unreadable).map_or(Ok(()), |why| Err(read.wrong_member(id, why)));
            let subscription = match readable.and_then(|()| subscriptions.number(member, id)) {
                Ok(subscription) => subscription,
                Err(error) => {
                    reasons.report(error)?;
                    continue;
                }
            };
            // A negative number means no generation, as in Kafka.
            let number = |column: &Option<Int32Array>| {
                let found = column.as_ref().filter(|column| column.is_valid(member));
                found.map(|column| column.value(member)).filter(|generation| *generation >= 0)
            };
            roster.push(RosterMember {
                id: Cow::Borrowed(id),
                instance_id: optional(&self.instance_ids).map(Cow::Borrowed),
                rack: optional(&self.racks).map(Cow::Borrowed),
                subscription,
                generation: number(&self.generations),
                names: AssignorNames {
                    assignor: optional(&self.assignors),
                    group_protocol: optional(&self.group_protocols),
                },
            });
        }
        read.roster = Roster { members: roster, subscriptions: subscriptions.found, ..Roster::default() };
        read.choose_assignor(reasons)?;
        if read.roster.needs_order(read.cluster) {
            // Rows are in any order.
            read.roster.sort_all();
        }
        Ok(read)
    }
}

/// The subscriptions of a group, while its members are read.
struct SubscriptionReader<'a> {
    groups: &'a GroupColumn,
    clusters: &'a ClusterColumn,
    cluster: &'a Cluster,
    cluster_name: &'a str,
    group_id: &'a str,
    found: Vec<RosterSubscription<'a>>,
    /// The place of the last list of topics, and its subscription.
    last: Option<(usize, u32)>,
    by_place: FxHashMap<usize, u32>,
    by_topics: FxHashMap<Vec<Cow<'a, str>>, u32>,
    by_patterns: FxHashMap<(Vec<&'a str>, Vec<u32>), u32>,
    nothing: Option<u32>,
}

impl<'a> SubscriptionReader<'a> {
    fn new(groups: &'a GroupColumn, read: &GroupRow<'a>, clusters: &'a ClusterColumn) -> Self {
        Self {
            groups,
            clusters,
            cluster: read.cluster,
            cluster_name: read.cluster_name,
            group_id: read.group_id,
            found: Vec::new(),
            last: None,
            by_place: FxHashMap::default(),
            by_topics: FxHashMap::default(),
            by_patterns: FxHashMap::default(),
            nothing: None,
        }
    }

    fn push(&mut self, subscription: RosterSubscription<'a>) -> u32 {
        self.found.push(subscription);
        self.found.len() as u32 - 1
    }

    /// Return the subscription of a member.
    fn number(&mut self, member: usize, id: &str) -> PyResult<u32> {
        let groups = self.groups;
        let (cluster_name, group_id) = (self.cluster_name, self.group_id);
        let wrong = |reason: &str| {
            IllegalArgumentError::new_err(format!("{}: member '{id}': {reason}", group_name(cluster_name, group_id)))
        };
        let topics = groups.topics.as_ref().and_then(|topics| Some((topics, topics.place(member)?)));
        let patterns = groups.patterns.as_ref().map(|patterns| patterns.get(member)).unwrap_or_default();
        let dialect = groups.dialects.as_ref().and_then(|dialects| dialects.get(member)).unwrap_or("java");
        let known = Dialect::named(dialect);
        if !patterns.is_empty() || known == Some(Dialect::Librdkafka) {
            let dialect = known.ok_or_else(|| {
                let what = format!("{}: member '{id}': dialect", group_name(cluster_name, group_id));
                unknown_dialect(&what, &format!("'{dialect}'"))
            })?;
            let names: Option<Vec<&str>> = topics.into_iter().flat_map(|(topics, place)| topics.texts(place)).collect();
            let names = names.ok_or_else(|| wrong("a subscribed topic is null"))?;
            let patterns: Option<Vec<&str>> = patterns.into_iter().collect();
            let patterns = patterns.ok_or_else(|| wrong("a pattern is null"))?;
            let (names, patterns) = split(names, patterns, dialect);
            if !patterns.is_empty() {
                return self.of_patterns(names, &patterns, dialect, id);
            }
        }
        let Some((topics, place)) = topics else {
            let missing = RosterSubscription { is_missing: true, ..RosterSubscription::default() };
            let nothing = self.nothing.unwrap_or_else(|| self.push(missing));
            self.nothing = Some(nothing);
            return Ok(nothing);
        };
        if let Some((last, number)) = self.last
            && topics.same(last, place)
        {
            return Ok(number);
        }
        if let Some(number) = self.by_place.get(&place) {
            self.last = Some((place, *number));
            return Ok(*number);
        }
        let names: Option<Vec<_>> = topics.texts(place).map(|name| name.map(Cow::Borrowed)).collect();
        let names = names.ok_or_else(|| wrong("a subscribed topic is null"))?;
        let number = if let Some(number) = self.by_topics.get(&names) {
            *number
        } else {
            let number = self.push(RosterSubscription { topics: names.clone(), ..RosterSubscription::default() });
            self.by_topics.insert(names, number);
            number
        };
        self.by_place.insert(place, number);
        self.last = Some((place, number));
        Ok(number)
    }

    /// Return the subscription to names and patterns.
    fn of_patterns(&mut self, names: Vec<&'a str>, texts: &[&str], dialect: Dialect, id: &str) -> PyResult<u32> {
        let owner = || format!("{}: member '{id}'", group_name(self.cluster_name, self.group_id));
        let (mut numbers, mut matched) = (Vec::with_capacity(texts.len()), Vec::new());
        for text in texts {
            let (number, topics) = self.clusters.matching(self.cluster_name, text, dialect, &owner)?;
            numbers.push(number);
            matched.extend(topics);
        }
        let key = (names, numbers);
        if let Some(number) = self.by_patterns.get(&key) {
            return Ok(*number);
        }
        let topics = self.cluster.topics().names();
        matched.sort_unstable();
        matched.dedup();
        let matched = matched.into_iter().map(|topic| topics.get(topic as usize));
        let subscription = RosterSubscription::by_patterns(key.0.iter().copied(), matched, key.1.clone());
        let number = self.push(subscription);
        self.by_patterns.insert(key, number);
        Ok(number)
    }
}

/// Group as read from its row.
pub(crate) struct GroupRow<'a> {
    groups: &'a GroupColumn,
    row: usize,
    /// Name of the cluster.
    pub(crate) cluster_name: &'a str,
    /// Cluster.
    pub(crate) cluster: &'a Cluster,
    /// Its invalid topics, if it has any.
    pub(crate) invalid_topics: Option<&'a InvalidTopics>,
    /// Group id.
    pub(crate) group_id: &'a str,
    /// Members.
    pub(crate) roster: Roster<'a>,
    /// The reason why its plan is not computed.
    pub(crate) not_computed: Option<NotComputed>,
    /// Rows of members that lack a cluster, a group or a member id.
    pub(crate) unnamed_members: usize,
}

impl<'a> GroupRow<'a> {
    /// Set the assignor of the roster, and the partitions that its members own if the assignor or a scenario needs them.
    fn choose_assignor(&mut self, reasons: &mut Reasons) -> PyResult<()> {
        if self.roster.members.is_empty() {
            return Ok(());
        }
        match assignor_of(self.roster.members.iter().map(|member| member.names)) {
            Ok(assignor) => self.roster.computed = Some(assignor),
            Err(reason) => self.not_computed = Some(reason),
        }
        if self.roster.computed.is_none_or(reads_owned) {
            self.roster.owned = self.current(reasons)?;
        }
        Ok(())
    }

    /// Return the name of the group in errors.
    pub(crate) fn name(&self) -> String {
        group_name(self.cluster_name, self.group_id)
    }

    /// Return true if the group id is not null; `""` is an id.
    pub(crate) fn has_group_id(&self) -> bool {
        self.groups.group_ids.get(self.row).is_some()
    }

    /// Return an error about this group, for invalid input or for a result that is too large.
    pub(crate) fn wrong(&self, reason: &str) -> PyErr {
        IllegalArgumentError::new_err(format!("{}: {reason}", self.name()))
    }

    /// Return an error about a row of a member.
    fn wrong_member(&self, id: &str, reason: &str) -> PyErr {
        self.wrong(&format!("member '{id}': {reason}"))
    }

    /// Return true unless the rows of the members name another group protocol than the classic one.
    pub(crate) fn is_classic(&self) -> bool {
        let mut names = self.roster.members.iter().filter_map(|member| member.names.group_protocol);
        names.all(|name| name == GroupProtocol::Classic.name())
    }

    /// Return true if the partitions that the members own are known.
    pub(crate) fn has_current(&self) -> bool {
        self.groups.current.as_ref().is_some_and(|current| current.groups.get(self.row).is_some())
    }

    /// Return what is known of the group and its members for a move to KIP-848.
    pub(crate) fn facts(&self, reasons: &mut Reasons) -> PyResult<GroupFacts<'a>> {
        let groups = self.groups;
        let mut found = GroupFacts {
            protocol_type: groups.protocol_types.as_ref().and_then(|column| column.get(self.row)),
            assignor: self.roster.members.iter().find_map(|member| member.names.assignor),
            members: FxHashMap::default(),
        };
        let columns = [&groups.libraries, &groups.library_versions, &groups.conversion_problems];
        if columns.iter().all(|column| column.is_none()) && groups.member_protocol_types.is_none() {
            return Ok(found);
        }
        let is_readable =
            |member: &usize| groups.unreadable.as_ref().is_none_or(|column| column.get(*member).is_none());
        for member in groups.members.get(self.row).unwrap_or_default().filter(is_readable) {
            let Some(id) = groups.ids.get(member) else { continue };
            let text = |column: &'a Option<Texts>| column.as_ref().and_then(|column| column.get(member));
            found.protocol_type = found.protocol_type.or_else(|| text(&groups.member_protocol_types));
            let library = text(&groups.libraries).and_then(Library::named);
            let version = text(&groups.library_versions).map(str::to_owned);
            let conversion_problem = text(&groups.conversion_problems);
            let unconvertible = conversion_problem.and_then(Unconvertible::named);
            if let (Some(name), None) = (conversion_problem, unconvertible) {
                let known = Unconvertible::ALL.map(Unconvertible::name).join("', '");
                let reason = format!("conversion_problem must be null or one of '{known}', not '{name}'");
                reasons.report(self.wrong_member(id, &reason))?;
            }
            let facts = MemberFacts { client: Client { library, version }, unconvertible };
            if facts != MemberFacts::default() {
                found.members.insert(id, facts);
            }
        }
        Ok(found)
    }

    /// Return the current assignment of the members, without the rows that `reasons` lists; rows without a member or a topic are
    /// ignored.
    pub(crate) fn current(&self, reasons: &mut Reasons) -> PyResult<Vec<OwnedSpan<'a>>> {
        let Some(current) = &self.groups.current else { return Ok(Vec::new()) };
        if self.groups.clusters.get(self.row).is_none() || !self.has_group_id() {
            return Ok(Vec::new());
        }
        let mut found = Vec::new();
        for row in current.groups.get(self.row).unwrap_or_default() {
            let (Some(member), Some(topic)) = (current.members.get(row), current.topics.get(row)) else { continue };
            if let Some(why) = current.unreadable.as_ref().and_then(|column| column.get(row)) {
                reasons.report(self.wrong_member(member, why))?;
                continue;
            }
            let number = |column: &Int32Array| column.is_valid(row).then(|| column.value(row));
            match (number(&current.starts), number(&current.counts)) {
                (Some(start), Some(count)) if start >= 0 && count > 0 && start.checked_add(count - 1).is_some() => {
                    found.push(OwnedSpan { member, topic, start, count });
                }
                (start, count) => {
                    let [start, count] =
                        [start, count].map(|number| number.map_or("null".into(), |number| number.to_string()));
                    let reason =
                        format!("start {start} and count {count} of topic '{topic}' are not a range of partition ids");
                    reasons.report(self.wrong_member(member, &reason))?;
                }
            }
        }
        Ok(found)
    }
}

/// Return the name of a group in errors.
fn group_name(cluster_name: &str, group_id: &str) -> String {
    if cluster_name.is_empty() {
        format!("group '{group_id}'")
    } else {
        format!("group '{group_id}' of cluster '{cluster_name}'")
    }
}

//! Schema of events: the columns of a table of events, the fields of each kind of event, and the values of an event.
//!
//! Everything that shows events uses it: Arrow batches, Spark's schema, the keys of JSON, and the documentation.

use super::comparison::Comparison;
use super::events::{Cost, Event, EventDetails, Logged, MemberCost, Partition};
use super::model::GroupKind;
use super::tasks::{MemberTasks, MovedTask, TaskChanges};

/// Type of a column. All columns are nullable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnType {
    /// Text.
    Text,
    /// A 64-bit integer.
    Number,
    /// A boolean.
    Flag,
    /// A list of texts.
    Texts,
    /// A list of 64-bit integers, which may be null.
    Numbers,
    /// A list of structs of topic and partition.
    Partitions,
    /// A struct of assignor, outcome, class and remarks.
    Comparison,
    /// A list of structs of member, process, and lists of active, standby and warm-up tasks.
    Tasks,
    /// A list of structs of task and process.
    MovedTasks,
    /// A list of structs of member and numbers.
    MemberCosts,
}

impl ColumnType {
    /// Return the name of the type.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Number => "number",
            Self::Flag => "flag",
            Self::Texts => "texts",
            Self::Numbers => "numbers",
            Self::Partitions => "partitions",
            Self::Comparison => "comparison",
            Self::Tasks => "tasks",
            Self::MovedTasks => "moved_tasks",
            Self::MemberCosts => "member_costs",
        }
    }
}

use ColumnType::{
    Comparison as Compared, Flag, MemberCosts, MovedTasks, Number, Numbers, Partitions, Tasks, Text, Texts,
};

/// Columns of a table of events.
pub const COLUMNS: [(&str, ColumnType); 62] = [
    ("event", Text),
    ("cluster", Text),
    ("group", Text),
    ("kind", Text),
    ("at", Number),
    ("offset", Number),
    ("generation", Number),
    ("protocol_type", Text),
    ("protocol", Text),
    ("leader", Text),
    ("members", Number),
    ("partitions", Number),
    ("duration_ms", Number),
    ("same_members", Flag),
    ("comparison", Compared),
    ("tasks", Tasks),
    ("moved_tasks", MovedTasks),
    ("moved_state", MovedTasks),
    ("task_problems", Texts),
    ("causes", Texts),
    ("evidence", Text),
    ("joined", Texts),
    ("left", Texts),
    ("replaced", Texts),
    ("moved", Partitions),
    ("unowned", Partitions),
    ("action", Text),
    ("member", Text),
    ("instance_id", Text),
    ("client_id", Text),
    ("client_host", Text),
    ("previous", Text),
    ("since", Number),
    ("until", Number),
    ("rebalances", Number),
    ("topic_partitions", Partitions),
    ("usual_interval_ms", Number),
    ("partition_intervals_ms", Numbers),
    ("problem", Text),
    ("record_type", Number),
    ("error", Text),
    ("timestamp", Number),
    ("log_partitions", Texts),
    ("groups", Number),
    ("logged_at", Number),
    ("logged_reason", Text),
    ("inferred_causes", Texts),
    ("rebalance_at", Number),
    ("rebalance_offset", Number),
    ("revoked", Number),
    ("assigned", Number),
    ("target_ms", Number),
    ("paused", Number),
    ("pause_since", Number),
    ("pause_until", Number),
    ("partition_ms", Number),
    ("compared_ms", Number),
    ("lost_ms", Number),
    ("unknown_pauses", Number),
    ("open_pauses", Number),
    ("cost_open", Flag),
    ("member_costs", MemberCosts),
];

/// Fields and their meanings.
type Meanings = &'static [(&'static str, &'static str)];

/// Fields of all events, which are the first columns.
pub const COMMON: Meanings = &[
    (
        "event",
        "`generation`, `rebalance`, `cost`, `member`, `storm`, `stuck`, `offsets`, `offsets_deleted`, `group_deleted`, \
         `bad_record`, `invalid_timestamp`, `silence` or `coordinator`",
    ),
    ("cluster", "name of the cluster"),
    ("group", "group id; null if the key of a bad record cannot be read, and for `silence` and `coordinator`"),
    (
        "kind",
        "`classic`, `consumer` (KIP-848), `share`, `streams`, or `offsets` before the first group record; null without a group",
    ),
    ("at", "timestamp of the record, or the deadline, in milliseconds"),
    (
        "offset",
        "offset of the record, or of the last record of the group before the deadline; -1 without a group, and for a rebalance that \
         only the log of a broker has",
    ),
];

const REVOKED: &str = "number of partitions that were taken from members, also if the same member got them back; null if that is not known";
const ASSIGNED: &str = "number of partitions that members got, also if they had them before; null if that is not known";
const TARGET: &str = "of a group with an epoch: time from the group epoch to the target assignment";
const PAUSED: &str = "number of these partitions with a known pause: the time from the last commit before to the first one after. \
                      A pause belongs to the first rebalance in it; null without one";
const PAUSE_SINCE: &str = "first beginning of these pauses";
const PAUSE_UNTIL: &str = "last end of these pauses";
const PARTITION_TIME: &str = "sum of these pauses in partition-milliseconds";
const COMPARED: &str = "part of `partition_ms` of the partitions whose usual interval between commits is known";
const LOST: &str = "`compared_ms` without the usual interval of each partition; null if no usual interval is known";
const UNKNOWN_PAUSES: &str = "number of partitions that were revoked or assigned and whose pause is not known, for example without commits before; null while `cost_open` \
     is true in an event of a running replay";
const OPEN_PAUSES: &str = "number of pauses that have not ended; null like `unknown_pauses`";
const COST_OPEN: &str =
    "true if a pause has not ended, or a member has not reached the epoch: a later event `cost` completes a rebalance";
const MEMBER_COSTS: &str = "`member`, `revoked`, `assigned`, `paused`, `partition_ms`, `compared_ms` and `lost_ms` of the partitions that the member committed after their \
     pauses, and `epoch_ms`: time from the group epoch until the member reached it; null if it is not known";

/// Kinds of events in the order of the events of one record, with their fields after the common ones in the order of JSON.
pub const KINDS: [(&str, Meanings); 13] = [
    (
        "invalid_timestamp",
        &[
            ("record_type", "type number of the record"),
            (
                "timestamp",
                "its timestamp, which is not between 1970 and 9999; `at` is the highest valid one before it, or 0",
            ),
        ],
    ),
    ("bad_record", &[("record_type", "type number, if the key has one"), ("error", "what is wrong, and where")]),
    (
        "silence",
        &[
            ("since", "last record before the silence; `at` and `until` are the time of the first record after it"),
            ("until", "first record after the silence"),
            ("log_partitions", "silent partitions of `__consumer_offsets`; null if the whole log was silent"),
        ],
    ),
    (
        "coordinator",
        &[
            ("previous", "broker id of the previous leader"),
            ("leader", "broker id of the new leader"),
            ("log_partitions", "partitions of `__consumer_offsets` that changed their leader"),
            ("groups", "number of groups with these partitions"),
        ],
    ),
    (
        "offsets_deleted",
        &[
            ("topic_partitions", "the partition"),
            ("causes", "`expired`, `deleted` or `topic_deleted`, most likely first"),
            ("evidence", "what decided, and what the log does not show"),
        ],
    ),
    (
        "offsets",
        &[
            (
                "problem",
                "`never_committed`, `not_owned`, `went_back`, `two_owners`, `not_subscribed` or `unknown_partition`",
            ),
            ("topic_partitions", "the partitions"),
            ("evidence", "explanation of the problem, and what the log does not show"),
            ("since", "of `two_owners`, `not_subscribed` and `unknown_partition`: time at which the problem began"),
            ("until", "of these: time at which it ended; null while it lasts"),
        ],
    ),
    (
        "cost",
        &[
            ("generation", "generation or epoch of an earlier rebalance, whose cost is complete with this record"),
            ("rebalance_at", "time of the record of that rebalance"),
            ("rebalance_offset", "offset of this record"),
            ("causes", "causes of that rebalance"),
            ("paused", PAUSED),
            ("pause_since", PAUSE_SINCE),
            ("pause_until", PAUSE_UNTIL),
            ("partition_ms", PARTITION_TIME),
            ("compared_ms", COMPARED),
            ("lost_ms", LOST),
            ("unknown_pauses", UNKNOWN_PAUSES),
            ("open_pauses", OPEN_PAUSES),
            ("cost_open", COST_OPEN),
            ("member_costs", MEMBER_COSTS),
        ],
    ),
    (
        "stuck",
        &[
            ("member", "member id"),
            ("topic_partitions", "its partitions for which an offset was committed while it owned them"),
            ("since", "time of the member's last commit"),
            ("until", "time of its next commit, or of the loss of its partitions; null while it is stuck"),
            ("usual_interval_ms", "usual interval between its commits"),
            (
                "partition_intervals_ms",
                "for each of the partitions, the usual interval between its commits by this member; null before the sixth commit",
            ),
        ],
    ),
    (
        "group_deleted",
        &[
            ("generation", "last generation or epoch; null if the log does not have it"),
            ("causes", "`expired` or `deleted`, most likely first"),
            ("evidence", "what decided"),
        ],
    ),
    (
        "member",
        &[
            ("action", "`joined`, `left`, `expired`, `replaced` or `subscription_changed`"),
            ("member", "member id"),
            ("instance_id", "group instance id of a static member"),
            ("client_id", "client id"),
            ("client_host", "client host"),
            ("previous", "of `replaced`: the member id that the member had before"),
            ("generation", "generation or epoch"),
            ("causes", "of `left` and `expired`"),
        ],
    ),
    (
        "generation",
        &[
            ("generation", "generation or group epoch"),
            ("protocol_type", "protocol type of a classic group"),
            ("protocol", "assignor of a classic group"),
            ("leader", "member id of the leader of a classic group"),
            ("members", "number of members"),
            ("partitions", "number of partitions that the members own"),
            ("duration_ms", "time since the previous group record"),
            ("same_members", "true if the membership is unchanged and not empty"),
            (
                "comparison",
                "`assignor`, `outcome` (`equal`, `different` or `unknown`), `class` and `remarks`: whether Kafka's assignor gives the \
                 recorded assignment; or null. `class` is `unexplained`, or `explained` by other topic metadata, if the outcome is \
                 `different`; `unreadable` (bytes), `unknown_topics` or `not_determined` (by the log) if it is `unknown`; else null. \
                 `assignor` is null if the log does not determine the answer of any assignor",
            ),
            (
                "tasks",
                "of a group that assigns tasks: `member`, `process` (process or worker; null if it is not known), and the names of the \
                 `active`, `standby` and `warmup` tasks of each member; null for other groups, and if the assignment is not known",
            ),
            (
                "moved_tasks",
                "`task` and `process` of the active tasks that run on another process than before; null if that is not known",
            ),
            (
                "moved_state",
                "`task` and `process` of the copies of state on a process that had no copy before, although another one had; null if \
                 that is not known",
            ),
            ("task_problems", "sentences that say what is wrong with the tasks; null without `tasks`"),
        ],
    ),
    (
        "rebalance",
        &[
            ("generation", "the new generation or epoch"),
            (
                "causes",
                "names of [`RebalanceCause`](rebalance-causes.md) in lower case, most likely first: all that the log allows; \
                 `[\"unknown\"]` if it allows none",
            ),
            ("evidence", "sentences with the members, topics and times"),
            ("joined", "ids of new members"),
            ("left", "ids of missing members"),
            ("replaced", "new ids of static members that returned"),
            ("moved", "partitions with another owner than the last known one; null if that cannot be known"),
            ("unowned", "partitions of subscribed topics without an owner; null without topic metadata"),
            (
                "logged_at",
                "time at which the rebalance began, from the [log of a broker](start-from-what-you-have.md#the-log-of-a-broker); null \
                 without a line about it",
            ),
            (
                "logged_reason",
                "the reason as the broker logged it; null without one. The first of `causes` is certain exactly if it is not null",
            ),
            ("inferred_causes", "the causes that the records alone allow; null without a line"),
            ("revoked", REVOKED),
            ("assigned", ASSIGNED),
            ("target_ms", TARGET),
            ("paused", PAUSED),
            ("pause_since", PAUSE_SINCE),
            ("pause_until", PAUSE_UNTIL),
            ("partition_ms", PARTITION_TIME),
            ("compared_ms", COMPARED),
            ("lost_ms", LOST),
            ("unknown_pauses", UNKNOWN_PAUSES),
            ("open_pauses", OPEN_PAUSES),
            ("cost_open", COST_OPEN),
            ("member_costs", MEMBER_COSTS),
        ],
    ),
    (
        "storm",
        &[
            ("since", "first rebalance of the storm"),
            ("until", "last rebalance of the storm; null if the storm has not ended"),
            ("rebalances", "number of rebalances so far"),
            ("topic_partitions", "partitions that changed owners or had no owner since the storm began"),
            ("unowned", "partitions without an owner in the last generation"),
        ],
    ),
];

/// Value of a column.
#[derive(Debug, Clone)]
pub enum ColumnValue<'a> {
    /// Text.
    Text(&'a str),
    /// A number.
    Number(i64),
    /// A boolean.
    Flag(bool),
    /// A list of texts.
    Texts(Vec<&'a str>),
    /// A list of numbers.
    Numbers(&'a [Option<i64>]),
    /// A list of partitions.
    Partitions(&'a [Partition]),
    /// A comparison.
    Comparison(&'a Comparison),
    /// Tasks of members.
    Tasks(&'a [MemberTasks]),
    /// Tasks that moved.
    MovedTasks(&'a [MovedTask]),
    /// Shares of members in a cost.
    MemberCosts(&'a [MemberCost]),
}

/// Values of the columns of an event, in the order of [`COLUMNS`].
pub type Row<'a> = [Option<ColumnValue<'a>>; COLUMNS.len()];

/// Return the place of a column; compilation fails for another name.
const fn column(name: &str) -> usize {
    let mut place = 0;
    while !is_same(COLUMNS[place].0.as_bytes(), name.as_bytes()) {
        place += 1;
    }
    place
}

const fn is_same(left: &[u8], right: &[u8]) -> bool {
    if left.len() != right.len() {
        return false;
    }
    let mut place = 0;
    while place < left.len() {
        if left[place] != right[place] {
            return false;
        }
        place += 1;
    }
    true
}

/// Conversion to the value of a column; None is null.
trait ToValue<'a> {
    fn to_value(self) -> Option<ColumnValue<'a>>;
}

impl<'a> ToValue<'a> for &'a str {
    fn to_value(self) -> Option<ColumnValue<'a>> {
        Some(ColumnValue::Text(self))
    }
}

impl<'a> ToValue<'a> for i64 {
    fn to_value(self) -> Option<ColumnValue<'a>> {
        Some(ColumnValue::Number(self))
    }
}

impl<'a> ToValue<'a> for &'a [Partition] {
    fn to_value(self) -> Option<ColumnValue<'a>> {
        Some(ColumnValue::Partitions(self))
    }
}

impl<'a> ToValue<'a> for ColumnValue<'a> {
    fn to_value(self) -> Option<ColumnValue<'a>> {
        Some(self)
    }
}

impl<'a, T: ToValue<'a>> ToValue<'a> for Option<T> {
    fn to_value(self) -> Option<ColumnValue<'a>> {
        self.and_then(T::to_value)
    }
}

fn texts<T: AsRef<str>>(all: &[T]) -> ColumnValue<'_> {
    ColumnValue::Texts(all.iter().map(AsRef::as_ref).collect())
}

/// Set columns of a row.
macro_rules! set {
    ($row:ident, $($name:literal = $value:expr),* $(,)?) => {$(
        $row[const { column($name) }] = $value.to_value();
    )*};
}

fn set_cost<'a>(row: &mut Row<'a>, cost: &'a Cost) {
    let (since, until) = cost.between.unzip();
    set!(row, "revoked" = cost.revoked, "assigned" = cost.assigned, "target_ms" = cost.target);
    set!(row, "pause_since" = since, "pause_until" = until, "unknown_pauses" = cost.unknown, "open_pauses" = cost.open);
    set!(row, "cost_open" = ColumnValue::Flag(cost.is_open), "member_costs" = ColumnValue::MemberCosts(&cost.members));
    if let Some(sums) = cost.sums {
        set!(
            row,
            "paused" = sums.paused,
            "partition_ms" = sums.duration,
            "compared_ms" = sums.compared,
            "lost_ms" = sums.lost
        );
    }
}

/// Set the columns of a rebalance, or of the cost of an earlier one.
fn set_rebalance<'a>(row: &mut Row<'a>, details: &'a EventDetails) {
    match details {
        EventDetails::Rebalance {
            generation,
            causes,
            evidence,
            joined,
            left,
            replaced,
            moved,
            unowned,
            logged,
            cost,
        } => {
            set!(row, "generation" = i64::from(*generation), "causes" = texts(causes), "evidence" = (&**evidence));
            set!(row, "joined" = texts(joined), "left" = texts(left), "replaced" = texts(replaced));
            set!(row, "moved" = moved.as_deref(), "unowned" = unowned.as_deref());
            set_logged(row, logged.as_deref());
            set_cost(row, cost);
        }
        EventDetails::Cost { generation, rebalance, causes, cost } => {
            set!(row, "generation" = i64::from(*generation), "causes" = texts(causes));
            set!(row, "rebalance_at" = rebalance.0, "rebalance_offset" = rebalance.1);
            set_cost(row, cost);
        }
        _ => {}
    }
}

fn set_logged<'a>(row: &mut Row<'a>, logged: Option<&'a Logged>) {
    if let Some(logged) = logged {
        set!(row, "logged_at" = logged.at, "logged_reason" = logged.reason.as_deref());
        set!(row, "inferred_causes" = texts(&logged.inferred));
    }
}

fn set_tasks<'a>(row: &mut Row<'a>, changes: Option<&'a TaskChanges>) {
    if let Some(TaskChanges { tasks, moved_tasks, moved_state, problems }) = changes {
        set!(row, "tasks" = ColumnValue::Tasks(tasks), "task_problems" = texts(problems));
        set!(row, "moved_tasks" = moved_tasks.as_deref().map(ColumnValue::MovedTasks));
        set!(row, "moved_state" = moved_state.as_deref().map(ColumnValue::MovedTasks));
    }
}

impl Event {
    /// Return the values of the common fields; all others are null.
    fn common_row(&self) -> Row<'_> {
        let mut row: Row<'_> = [const { None }; COLUMNS.len()];
        set!(row, "event" = self.details.name(), "cluster" = (&*self.cluster), "group" = self.group.as_deref());
        set!(row, "kind" = self.kind.map(GroupKind::as_str), "at" = self.at, "offset" = self.offset);
        row
    }

    /// Return the values of the columns.
    #[must_use]
    pub fn row(&self) -> Row<'_> {
        let mut row = self.common_row();
        match &self.details {
            EventDetails::Generation {
                generation,
                protocol_type,
                protocol,
                leader,
                members,
                partitions,
                duration,
                same_members,
                comparison,
                tasks,
            } => {
                set!(row, "generation" = i64::from(*generation), "protocol_type" = protocol_type.as_deref());
                set!(row, "protocol" = protocol.as_deref(), "leader" = leader.as_deref());
                set!(
                    row,
                    "members" = (*members as i64),
                    "partitions" = (*partitions as i64),
                    "duration_ms" = (*duration)
                );
                let comparison = comparison.as_ref().map(ColumnValue::Comparison);
                set!(row, "same_members" = ColumnValue::Flag(*same_members), "comparison" = comparison);
                set_tasks(&mut row, tasks.as_ref());
            }
            EventDetails::Rebalance { .. } | EventDetails::Cost { .. } => set_rebalance(&mut row, &self.details),
            EventDetails::Member {
                action,
                member,
                instance_id,
                client_id,
                client_host,
                previous,
                generation,
                causes,
            } => {
                set!(row, "action" = (*action), "member" = (&**member), "instance_id" = instance_id.as_deref());
                set!(
                    row,
                    "client_id" = (&**client_id),
                    "client_host" = (&**client_host),
                    "previous" = previous.as_deref()
                );
                set!(row, "generation" = generation.map(i64::from), "causes" = texts(causes));
            }
            EventDetails::Storm { since, until, rebalances, partitions, unowned } => {
                set!(row, "since" = (*since), "until" = (*until), "rebalances" = (*rebalances as i64));
                set!(row, "topic_partitions" = (&**partitions), "unowned" = unowned.as_deref());
            }
            EventDetails::Stuck { member, partitions, since, until, usual_interval, partition_intervals } => {
                set!(
                    row,
                    "member" = (&**member),
                    "topic_partitions" = (&**partitions),
                    "since" = (*since),
                    "until" = *until
                );
                let intervals = ColumnValue::Numbers(partition_intervals);
                set!(row, "usual_interval_ms" = (*usual_interval), "partition_intervals_ms" = intervals);
            }
            EventDetails::Offsets { problem, partitions, evidence, since, until } => {
                set!(row, "since" = *since, "until" = *until);
                set!(row, "problem" = (*problem), "topic_partitions" = (&**partitions), "evidence" = (&**evidence));
            }
            EventDetails::GroupDeleted { generation, causes, evidence } => {
                set!(
                    row,
                    "generation" = generation.map(i64::from),
                    "causes" = texts(causes),
                    "evidence" = (&**evidence)
                );
            }
            EventDetails::OffsetsDeleted { partitions, causes, evidence } => {
                set!(row, "topic_partitions" = (&**partitions), "causes" = texts(causes), "evidence" = (&**evidence));
            }
            EventDetails::BadRecord { record_type, error } => {
                set!(row, "record_type" = record_type.map(i64::from), "error" = (&**error));
            }
            EventDetails::InvalidTimestamp { record_type, timestamp } => {
                set!(row, "record_type" = record_type.map(i64::from), "timestamp" = *timestamp);
            }
        }
        row
    }
}

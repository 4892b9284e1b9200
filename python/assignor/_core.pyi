"""Types of the Rust core. Some of them have counterparts in `assignor.reference` with the same names and signatures."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar, final, overload
from uuid import UUID

import numpy as np
import numpy.typing as npt
from typing_extensions import Buffer

from assignor.clients.membership import JoinedMembers
from assignor.columns import ArrowArray, ArrowRecordBatch, ArrowTable, MemberColumns, TopicColumns
from assignor.model import Balance, Diff, PartitionInfo, Spans, Subscription, TopicPartition
from assignor.names import AssignorName, Dialect, Engine, GroupProtocol
from assignor.tuples import SegmentEnd, WeightedBalance
from assignor.weights import Weights

__all__ = [
    "LATEST_TIME",
    "Clusters",
    "Group",
    "Matcher",
    "Plan",
    "Replay",
    "SegmentReader",
    "SilenceFinder",
    "TopicPattern",
    "Topics",
    "__build__",
    "__version__",
    "assign",
    "assign_tasks",
    "check",
    "classic_member",
    "coordinator_partition",
    "decode_assignment",
    "decode_batch",
    "decode_connect_assignment",
    "decode_connect_subscription",
    "decode_record",
    "decode_streams_assignment",
    "decode_streams_subscription",
    "decode_subscription",
    "decoded_group",
    "encode_assignment",
    "encode_record",
    "encode_record_with_rows",
    "encode_subscription",
    "event_schema",
    "folded_hash",
    "match_each",
    "match_topics",
    "plan",
    "read_cluster_metadata",
    "record_groups",
    "untrack",
]

LATEST_TIME: int
__build__: str
__version__: str

_T = TypeVar("_T")
_Tuple = TypeVar("_Tuple", bound=tuple[Any, ...])
_Topics: TypeAlias = Mapping[str, int | Iterable[int | PartitionInfo]] | Topics | TopicColumns | ArrowTable
_TopicIds: TypeAlias = Mapping[str, UUID | bytes | str]
_Subscriptions: TypeAlias = Mapping[str, Subscription | Iterable[str]] | MemberColumns | ArrowTable

def assign(
    partitions_per_topic: _Topics,
    subscriptions: _Subscriptions,
    *,
    assignor: AssignorName | None = None,
    group_protocol: GroupProtocol = "classic",
    topic_ids: _TopicIds | None = None,
    prefer_rack_aware: bool = False,
    engine: Engine = "rust",
) -> dict[str, list[TopicPartition]]: ...
def plan(
    partitions_per_topic: _Topics,
    subscriptions: _Subscriptions,
    *,
    assignor: AssignorName | None = None,
    group_protocol: GroupProtocol = "classic",
    topic_ids: _TopicIds | None = None,
    prefer_rack_aware: bool = False,
    engine: Engine = "rust",
) -> Plan: ...
def assign_tasks(
    topology: Mapping[str, tuple[int, bool]],
    members: Sequence[tuple[str, str, Sequence[tuple[str, int]], Sequence[tuple[str, int]]]],
    standby_replicas: int,
) -> list[tuple[list[tuple[str, int]], list[tuple[str, int]]]]: ...
def check(
    assignment: Mapping[str, Iterable[tuple[str, int]]],
    partitions_per_topic: _Topics,
    subscriptions: _Subscriptions,
    *,
    group_protocol: GroupProtocol = "classic",
) -> tuple[
    tuple[TopicPartition, ...],
    tuple[TopicPartition, ...],
    tuple[tuple[str, TopicPartition], ...],
    tuple[tuple[str, TopicPartition], ...],
]: ...

@final
class Topics(Mapping[str, int | list[int] | list[PartitionInfo]]):
    def __new__(cls, partitions_per_topic: _Topics) -> Topics: ...
    @property
    def names(self) -> tuple[str, ...]: ...
    @overload
    def get(self, topic: str, default: None = None, /) -> int | list[int] | list[PartitionInfo] | None: ...
    @overload
    def get(self, topic: str, default: _T, /) -> int | list[int] | list[PartitionInfo] | _T: ...
    def __getitem__(self, topic: str, /) -> int | list[int] | list[PartitionInfo]: ...
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...
    def __copy__(self) -> Topics: ...
    def __deepcopy__(self, memo: object, /) -> Topics: ...

@final
class Group:
    def __new__(
        cls, partitions_per_topic: _Topics, subscriptions: _Subscriptions, *, topic_ids: _TopicIds | None = None
    ) -> Group: ...
    @property
    def members(self) -> tuple[str, ...]: ...
    @property
    def topics(self) -> tuple[str, ...]: ...
    @staticmethod
    def from_wire(
        partitions_per_topic: _Topics,
        members: Iterable[tuple[str, str | None, bytes]],
        *,
        tolerant: bool = False,
        topic_ids: _TopicIds | None = None,
    ) -> Group: ...
    def plan(
        self,
        *,
        assignor: AssignorName | None = None,
        group_protocol: GroupProtocol = "classic",
        prefer_rack_aware: bool = False,
    ) -> Plan: ...
    def assign(
        self,
        *,
        assignor: AssignorName | None = None,
        group_protocol: GroupProtocol = "classic",
        prefer_rack_aware: bool = False,
    ) -> dict[str, list[TopicPartition]]: ...
    def __len__(self) -> int: ...
    def __copy__(self) -> Group: ...
    def __deepcopy__(self, memo: object, /) -> Group: ...

@final
class Plan(Mapping[str, list[TopicPartition]]):
    @property
    def members(self) -> tuple[str, ...]: ...
    @property
    def topics(self) -> tuple[str, ...]: ...
    @property
    def assignor(self) -> AssignorName: ...
    @property
    def group_protocol(self) -> GroupProtocol: ...
    def spans(self) -> Spans: ...
    def to_arrow(self) -> Any: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...
    def __arrow_c_schema__(self) -> object: ...
    def counts(self) -> npt.NDArray[np.int64]: ...
    def diff(self, other: Plan) -> Diff: ...
    @overload
    def balance(self, *, weights: None = None) -> Balance: ...
    @overload
    def balance(self, *, weights: Weights) -> WeightedBalance: ...
    def encode(self, version: int = 3) -> dict[str, bytes]: ...
    def group_metadata_size(
        self,
        group_id: str,
        *,
        leader: str | None = None,
        clients: Mapping[str, tuple[str, str]] | None = None,
        versions: int | Mapping[str, int] = 3,
    ) -> int: ...
    def to_json(self) -> str: ...
    @staticmethod
    def from_json(text: str | bytes) -> Plan: ...
    def partitions(self, member: str) -> list[TopicPartition]: ...
    def owner(self, topic: str, partition: int) -> str | None: ...
    def owners(self, topic: str, partition: int) -> tuple[str, ...]: ...
    def _repr_html_(self) -> str: ...
    @overload
    def get(self, member: str, default: None = None, /) -> list[TopicPartition] | None: ...
    @overload
    def get(self, member: str, default: _T, /) -> list[TopicPartition] | _T: ...
    def __getitem__(self, member: str, /) -> list[TopicPartition]: ...
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...

@final
class TopicPattern:
    def __new__(cls, pattern: str, dialect: Dialect = "java") -> TopicPattern: ...
    @property
    def pattern(self) -> str: ...
    @property
    def dialect(self) -> Dialect: ...
    def matches(self, topic: str) -> bool: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Matcher:
    """Topic matcher that identifies each pattern by a number.

    Methods return the topics that a pattern gained or lost, in the order in which the topics were added.
    """

    def __new__(cls, dialect: Dialect, include_internal: bool) -> Matcher: ...
    def add_topics(self, topics: list[str]) -> list[tuple[int, list[str]]]: ...
    def remove_topics(self, topics: list[str]) -> list[tuple[int, list[str]]]: ...
    def topics(self) -> list[str]: ...
    def add_pattern(self, pattern: str, owner: str) -> tuple[int, list[str]]: ...
    def remove_pattern(self, number: int) -> list[str]: ...
    def matches(self, number: int) -> list[str]: ...

def match_topics(pattern: str, topics: list[str], dialect: Dialect, include_internal: bool) -> list[str]:
    """Return the topics that a pattern matches, in the order of `topics`."""

def match_each(patterns: list[tuple[str, str, str]], topics: list[str], include_internal: bool) -> list[list[str]]:
    """Return the topics that each pattern matches. `patterns` has (pattern, dialect, owner); `topics` are distinct."""

def decoded_group(partitions_per_topic: _Topics, members: JoinedMembers) -> tuple[Group, list[str]]: ...
def decode_subscription(
    data: bytes, tolerant: bool
) -> tuple[int, list[str], bytes | None, list[tuple[str, list[int]]], int, str | None, int | None]:
    """Return version, topics, user data, owned partitions, generation, rack and the tolerated version."""

def decode_assignment(data: bytes) -> tuple[int, list[tuple[str, list[int]]], bytes | None]:
    """Return version, partitions and user data."""

def encode_subscription(
    version: int,
    topics: Iterable[str],
    user_data: bytes | None,
    owned_partitions: Iterable[tuple[str, int]],
    generation_id: int,
    rack_id: str | None,
) -> bytes:
    """Return the bytes of a subscription. The caller has checked the ranges of numbers and the encoding of names."""

def encode_assignment(version: int, assigned_partitions: Iterable[tuple[str, int]], user_data: bytes | None) -> bytes:
    """Return the bytes of an assignment."""

_Task: TypeAlias = tuple[int, int, str | None]
_Hosts: TypeAlias = list[tuple[tuple[str, int], list[tuple[str, int]]]]
_ConnectTasks: TypeAlias = tuple[list[str], list[tuple[str, int]]]
_ConnectAssignment: TypeAlias = tuple[int, int, str, str, int, _ConnectTasks, _ConnectTasks, int]

def decode_streams_subscription(
    user_data: bytes,
) -> tuple[
    int,
    int | None,
    bytes,
    list[_Task],
    list[_Task],
    list[tuple[_Task, int]],
    str | None,
    int,
    int,
    list[tuple[str, str]],
]:
    """Return the fields of `assignor.reference.wire.streams.Subscription`."""

def decode_streams_assignment(
    user_data: bytes,
) -> tuple[int, int | None, list[_Task], list[tuple[_Task, list[tuple[str, int]]]], _Hosts, _Hosts, int, int | None]:
    """Return the fields of `assignor.reference.wire.streams.Assignment`."""

def decode_connect_subscription(data: bytes) -> tuple[int, str, int, _ConnectAssignment | None]:
    """Return version, url, config offset and the owned assignment."""

def decode_connect_assignment(data: bytes) -> _ConnectAssignment:
    """Return version, error, leader, leader's url, config offset, assigned and revoked tasks, and the delay."""

def decode_record(
    key: bytes | None, value: bytes | None
) -> tuple[
    int,
    str | None,
    str,
    dict[str, Any],
    int | None,
    dict[str, Any] | None,
    list[dict[str, Any]] | None,
]:
    """Return type, name, status, key, version, value and consumer protocol."""

def encode_record(record_type: object, key: object, version: object, value: object) -> tuple[bytes, bytes | None]:
    """Return the bytes of key and value of a record. All four arguments are validated."""

def encode_record_with_rows(
    record_type: object, key: object, version: object, value: object, array: str, rows: list[tuple[object, ...]]
) -> tuple[bytes, bytes | None]:
    """Return the bytes of a record as `encode_record` does, with one more field in its value.

    The field `array` is an array of structures: each row has all fields of a structure, in the order of Kafka's layout.
    """

def decode_batch(keys: ArrowArray, values: ArrowArray) -> ArrowRecordBatch:
    """Decode a batch of records; `assignor.offsets.decode_batch` describes the columns."""

def record_groups(keys: ArrowArray) -> ArrowArray:
    """Return the group id of each record key; null if a key has no group id or is malformed."""

def read_cluster_metadata(offsets: ArrowArray, timestamps: ArrowArray, values: ArrowArray) -> ArrowRecordBatch:
    """Decode the values of records of `__cluster_metadata`; `assignor.sources.topic_history` describes the columns.

    The result has a row for each record that says something about topics, partitions, brokers or transactions, that is
    newer than the known ones, or that cannot be decoded.
    """

@final
class SegmentReader:
    """Reader of the bytes of one log segment: record batches of version 2, and message sets of versions 0 and 1."""

    def __new__(cls) -> SegmentReader: ...
    def push(self, data: Buffer) -> ArrowRecordBatch:
        """Read the next bytes of the file, and return the records of the batches that are complete.

        The columns are offset and timestamp (int64), key and value (binary, can be null), `leader_epoch` (int32),
        `producer_id` (int64), `is_transactional` (bool) and control (int16): the type of a control record, or null.
        """

    def finish(self) -> SegmentEnd:
        """End the file, and return its summary."""

@final
class SilenceFinder:
    """Finder of silences of a log. `assignor.replay.silences` has its public form."""

    def __new__(cls) -> SilenceFinder: ...
    def add(self, records: ArrowArray) -> None:
        """Add records in any order: a batch with the columns partition, timestamp and `group_id`."""

    def take(self) -> list[tuple[int, int, list[int], bool]]:
        """Return the silences that end with a record added since the last call, by time."""

@final
class Replay:
    """Incremental replay of many groups, as batches of events. `assignor.replay.Replay` is its public form."""

    def __new__(
        cls,
        topics: ArrowArray,
        *,
        is_open: bool = False,
        is_compared: bool = True,
        broker_version: tuple[int, int, int] | None = None,
        storm_rebalances: int = 20,
        storm_window_ms: int = 60000,
        stuck_factor: int = 10,
        stuck_interval_ms: int = 100,
        never_committed_ms: int = 60000,
        session_timeout_ms: int = 45000,
    ) -> Replay: ...
    def push(self, records: ArrowArray) -> list[ArrowRecordBatch]:
        """Apply a batch: offset, timestamp, key and value, and cluster, partition and aborted if there are any."""

    def push_record(self, record: tuple[int, int, bytes | None, bytes | None], cluster: str) -> list[ArrowRecordBatch]:
        """Apply one record: offset, timestamp, key and value."""

    def advance(self, now: int, cluster: str | None = None) -> list[ArrowRecordBatch]:
        """Return the events of all deadlines up to a time."""

    def next_deadline(self) -> int | None:
        """Return the earliest deadline."""

    def finish(self) -> list[ArrowRecordBatch]:
        """Return the events that the end of the log completes."""

    def observe_topics(self, topics: ArrowArray) -> list[ArrowRecordBatch]:
        """Replace the topic metadata by a longer timeline; return the generations whose comparison waited for it."""

    def observe_silences(self, silences: Sequence[tuple[int, int, Sequence[int], bool, str]]) -> None:
        """Add silences of the log, and moves of coordinators; see `assignor.replay.silences.Silence`."""

    def observe_broker_log(
        self,
        rebalances: Sequence[
            tuple[str, int | None, int, str | None, Sequence[tuple[Sequence[str], Sequence[str], str]]]
        ],
        cluster: str,
    ) -> None:
        """Add rebalances that brokers logged: group, generation, time, reason, and facts with causes and members."""

    def snapshot(self) -> bytes:
        """Return the state as bytes."""

    def restore(self, data: bytes) -> None:
        """Replace the state by that of a snapshot."""

    def counts(self) -> list[tuple[str, int]]:
        """Return total counts by name, such as `duplicates`."""

    def push_groups(
        self,
        records: ArrowArray | None,
        *,
        until: int | None = None,
        kinds: Sequence[str] | None = None,
        decoded: bool = False,
        commits: bool = False,
        limit: int = 2147483647,
    ) -> tuple[ArrowRecordBatch | None, ArrowRecordBatch | None, list[ArrowRecordBatch], tuple[ArrowArray, ArrowArray]]:
        """Apply records that are sorted by group, and end each group after its last record.

        Args:
            records: The columns of `push`. A batch may end inside a group; with None, the last group ends.
            until: Time up to which the deadlines of a group fire at its end, or None.
            kinds: Kinds of events to return; None for none.
            decoded: True to return the decoded records, see `decode_batch`.
            commits: True to return the offset commits: group_id, topic, partition, committed, timestamp and offset.
            limit: Highest number of bytes of text, or of rows in lists, per column of the histories.

        Returns:
            Decoded records, commits, events, and ids and histories of the groups that have ended; see
            `assignor.spark.schemas.HISTORY`.
        """

    def forget(self, group: str, cluster: str = "") -> bool:
        """Forget a group; return False if there is no such group."""

    def states(self) -> tuple[ArrowRecordBatch, ArrowArray]:
        """Return the groups as they are now: cluster, group and counts, and histories without generations."""

    def positions(self) -> list[ArrowRecordBatch]:
        """Return the partitions with a committed offset or an owner."""

def event_schema() -> tuple[list[tuple[str, str]], list[tuple[str, str]], list[tuple[str, list[tuple[str, str]]]]]:
    """Return the schema of events.

    Returns:
        Columns and their types, the meanings of the common fields, and the meanings of the fields of each kind.
    """

def coordinator_partition(group: str, partitions: int) -> int:
    """Return the partition of `__consumer_offsets` that stores a group; `partitions` is positive."""

def folded_hash(text: str, /) -> int:
    """Return the same number as `assignor.ordering.folded_hash`; surrogates are not accepted."""

def untrack(value: _Tuple, /) -> _Tuple:
    """Exclude a tuple that cannot be part of a cycle from the garbage collector, and return it."""

@final
class Clusters:
    """Topics of all clusters of a fleet. `assignor.spark.schemas` describes the columns of groups and of results.

    Each method returns columns that together have one row per group. A new column starts when the current one has
    `column_bytes` bytes of text. An invalid topic or group is an error; with `leave_out_invalid`, the row of an invalid
    group is null, and in `problems` it has the reasons. `invalid_topics` then returns cluster, name and reason of all
    invalid topics. Rows of members, of owned partitions and of topics may have a text `unreadable`, which makes them
    invalid and is the reason.
    """

    def __new__(cls, clusters: ArrowArray, *, leave_out_invalid: bool = False) -> Clusters: ...
    def invalid_topics(self) -> list[tuple[str, str, str]]: ...
    def resolve(self, groups: ArrowArray, *, column_bytes: int = 134217728) -> list[ArrowArray]: ...
    def assign(self, groups: ArrowArray, *, column_bytes: int = 134217728) -> list[ArrowArray]: ...
    def balance(self, groups: ArrowArray, *, column_bytes: int = 134217728) -> list[ArrowArray]: ...
    def current_balance(self, groups: ArrowArray, *, column_bytes: int = 134217728) -> list[ArrowArray]: ...
    def problems(self, groups: ArrowArray, *, column_bytes: int = 134217728) -> list[ArrowArray]: ...
    def moves(self, groups: ArrowArray, *, column_bytes: int = 134217728) -> list[ArrowArray]: ...
    def what_if(
        self,
        groups: ArrowArray,
        scenarios: list[tuple[str, list[str] | None, list[tuple[Any, ...]]]],
        *,
        column_bytes: int = 134217728,
    ) -> list[ArrowArray]: ...
    def scale(
        self, groups: ArrowArray, max_members: int | None = None, *, column_bytes: int = 134217728
    ) -> list[ArrowArray]: ...
    def assign_after(
        self,
        groups: ArrowArray,
        scenarios: list[tuple[str, list[str] | None, list[tuple[Any, ...]]]],
        *,
        column_bytes: int = 134217728,
    ) -> list[ArrowArray]: ...
    def migrate(
        self,
        groups: ArrowArray,
        rules: tuple[str, int, bool, tuple[int, int] | None, str],
        *,
        later: bool = False,
        column_bytes: int = 134217728,
    ) -> list[ArrowArray]: ...

def classic_member(
    group_id: str, assignor: str, client_id: str, metadata: bytes, assignment: bytes
) -> tuple[str | None, str | None, str | None]: ...

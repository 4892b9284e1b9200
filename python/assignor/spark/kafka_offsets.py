"""`kafka_offsets`: Spark data source that reads `__consumer_offsets` through confluent-kafka, without a connector.

It only reads: it assigns partitions to its consumers itself, so no group gets a member, and it commits nothing. Spark's
checkpoint has the positions of a stream. `assignor.spark.sources.kafka_offsets` registers and opens it.
"""

from __future__ import annotations

import dataclasses
import functools
import json
from typing import TYPE_CHECKING, Any, cast

from assignor.cluster.connection import CONSUMER, ClientSettings
from assignor.cluster.log import ISOLATION_LEVELS, READ_COMMITTED, TOPIC, OffsetsLog
from assignor.dependencies import dependency
from assignor.errors import IllegalArgumentError
from assignor.spark.executors import on_executors, sent
from assignor.spark.schemas import CLUSTER_RECORDS
from assignor.validation import shown

with dependency("pyspark", "pyarrow"):
    import pyarrow as pa
    import pyspark
    from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
    from pyspark.sql.pandas.types import to_arrow_schema

try:  # PySpark 4.2 and newer can limit the size of micro-batches.
    with dependency("pyspark"):
        from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows, SupportsTriggerAvailableNow
    HAS_LIMITS = True
except ImportError:  # pragma: no cover  # PySpark 4.1
    ReadAllAvailable = ReadMaxRows = SupportsTriggerAvailableNow = object  # type: ignore[misc, assignment]  # no such classes there
    HAS_LIMITS = False

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import SparkSession
    from pyspark.sql.types import StructType

NAME = "kafka_offsets"

_MOST_PARTITIONS = 1_000_000
"""Largest number of partitions in one range; a larger one is a mistake, and would fill the memory."""

_OWN_OPTIONS = (
    *("cluster", "topic", "partitions", "isolation", "startingoffsets", "endingoffsets"),
    *("maxoffsetspertrigger", "timeoutseconds"),
)


@dataclasses.dataclass(frozen=True)
class Settings:
    """Options of the source, checked.

    Attributes:
        log: The log to read.
        cluster: Value of the column `cluster`.
        partitions: Partitions to read; None for all.
        starting: First offset by partition; others start at the beginning of the log.
        ending: For each partition, the offset before which a batch ends; other partitions end at the end of the log.
        max_offsets: Highest number of offsets of a micro-batch, or None.
    """

    log: OffsetsLog
    cluster: str
    partitions: tuple[int, ...] | None
    starting: Mapping[int, int]
    ending: Mapping[int, int]
    max_offsets: int | None

    @classmethod
    def read(cls, options: Mapping[str, str]) -> Settings:
        """Parse the options of the source.

        Raises:
            IllegalArgumentError: An option is unknown, missing or has an invalid value.
        """
        given = {name.lower(): value for name, value in options.items()}
        client = {name.removeprefix("kafka."): value for name, value in given.items() if name.startswith("kafka.")}
        unknown = sorted(given.keys() - set(_OWN_OPTIONS) - {f"kafka.{name}" for name in client})
        if unknown:
            allowed = "cluster, topic, partitions, isolation, startingOffsets, endingOffsets, maxOffsetsPerTrigger, "
            raise IllegalArgumentError(
                f"{NAME} has no option {unknown[0]}; its options are {allowed}timeoutSeconds and kafka.<setting>"
            )
        fixed = sorted(client.keys() & {*CONSUMER, "isolation.level"})
        if fixed:
            raise IllegalArgumentError(f"{NAME} sets {fixed[0]} itself; remove the option kafka.{fixed[0]}")
        if not client.get("bootstrap.servers"):
            raise IllegalArgumentError(f"{NAME} needs the option kafka.bootstrap.servers")
        isolation = given.get("isolation", READ_COMMITTED)
        if isolation not in ISOLATION_LEVELS:
            raise IllegalArgumentError(f"isolation must be {' or '.join(ISOLATION_LEVELS)}, not {isolation!r}")
        timeout = float(_positive("timeoutSeconds", given.get("timeoutseconds", "60")) or 0)
        return cls(
            log=OffsetsLog(ClientSettings(client, timeout), given.get("topic", TOPIC), isolation),
            cluster=given.get("cluster", ""),
            partitions=_partitions(given["partitions"]) if "partitions" in given else None,
            starting=_offsets("startingOffsets", given.get("startingoffsets", "earliest"), "earliest"),
            ending=_offsets("endingOffsets", given.get("endingoffsets", "latest"), "latest"),
            max_offsets=_positive("maxOffsetsPerTrigger", given.get("maxoffsetspertrigger")),
        )


def _partitions(text: str) -> tuple[int, ...]:
    """Return the ids in a text such as `0,4-6`."""
    ids: set[int] = set()
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise IllegalArgumentError(f"partitions must be ids and ranges such as '0,4-6', not {shown(text)}")
        span = max(len(first), len(last))
        if span > 10 or (count := int(last or first) - int(first) + 1) > _MOST_PARTITIONS:
            raise IllegalArgumentError(f"partitions must name at most {_MOST_PARTITIONS} ids, not {shown(text)}")
        ids.update(range(int(first), int(first) + count))
    return tuple(sorted(ids))


def _offsets(name: str, text: str, default: str) -> dict[int, int]:
    if text == default:
        return {}
    try:
        given = json.loads(text)
        found = {int(id): offset for id, offset in given.items()}
    except (ValueError, AttributeError):
        found = {-1: -1}
    if not all(isinstance(offset, int) and id >= 0 and offset >= 0 for id, offset in found.items()):
        raise IllegalArgumentError(f'{name} must be {default} or JSON such as {{"0": 17}}, not {text!r}')
    return found


def _positive(name: str, text: str | None) -> int | None:
    if text is None:
        return None
    if not text.isdecimal() or len(text) > 18 or int(text) == 0:
        raise IllegalArgumentError(f"{name} must be a positive integer, not {shown(text)}")
    return int(text)


@dataclasses.dataclass
class OffsetRange(InputPartition):
    """Offsets of a partition from `start` up to, but not including, `end`."""

    partition: int
    start: int
    end: int


class KafkaOffsets(DataSource):
    """Data source `kafka_offsets` with the columns of `schemas.CLUSTER_RECORDS`."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return NAME

    def schema(self) -> StructType:
        """Return the columns."""
        return CLUSTER_RECORDS

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader of a batch."""
        return _BatchReader(Settings.read(self.options))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        """Return the reader of a stream."""
        settings = Settings.read(self.options)
        if settings.max_offsets is not None and not HAS_LIMITS:
            raise IllegalArgumentError(
                f"{NAME}: maxOffsetsPerTrigger needs Spark 4.2 or newer, and this is {pyspark.__version__}: remove the "
                "option, and each micro-batch reads all new records"
            )
        return _StreamReader(settings)


def source_for(spark: SparkSession) -> type[DataSource]:
    """Return the class to register with a session: an executor makes a `KafkaOffsets` in its place."""
    make = on_executors(spark, KafkaOffsets)

    class OnExecutors(DataSource):
        @classmethod
        def name(cls) -> str:
            return "kafka_offsets"

        def __new__(cls, options: dict[str, str]) -> Any:
            return make(options)

    return OnExecutors


class _BatchReader(DataSourceReader):
    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def __reduce__(self) -> tuple[Any, ...]:
        return sent(functools.partial(_BatchReader, self._settings))

    def partitions(self) -> Sequence[OffsetRange]:
        bounds = log_bounds(self._settings)
        ends = {id: min(end, self._settings.ending.get(id, end)) for id, end in _ends(bounds).items()}
        return _ranges(bounds, self._settings.starting, ends)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return read_range(self._settings, cast("OffsetRange", partition))


class _StreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Reader of a stream, whose offset is a dict of partition id, as text, to the next offset of the partition."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._last: dict[int, int] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return sent(functools.partial(_StreamReader, self._settings))  # executors only read

    def initialOffset(self) -> dict[str, int]:
        starts = {
            id: max(low, self._settings.starting.get(id, 0)) for id, (low, _) in log_bounds(self._settings).items()
        }
        return _text_keys(starts)

    def getDefaultReadLimit(self) -> Any:
        limit = self._settings.max_offsets
        return ReadAllAvailable() if limit is None else ReadMaxRows(limit)

    def prepareForTriggerAvailableNow(self) -> None:
        self._last = _ends(log_bounds(self._settings))

    def latestOffset(self, start: dict[str, int] | None = None, limit: Any = None) -> dict[str, int]:
        ends = self._last if self._last is not None else _ends(log_bounds(self._settings))
        # Spark 4.1 passes neither argument.
        known = {int(id): offset for id, offset in (start or {}).items()}
        # Offsets of a stream never go back, even if a topic was created again.
        ends = {id: max(end, known.get(id, 0)) for id, end in {**known, **ends}.items()}
        if HAS_LIMITS and isinstance(limit, ReadMaxRows):
            ends = admitted(known, ends, limit.max_rows)
        return _text_keys(ends)

    def reportLatestOffset(self) -> dict[str, int]:
        return _text_keys(_ends(log_bounds(self._settings)))

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[OffsetRange]:
        starts, ends = ({int(id): offset for id, offset in offsets.items()} for offsets in (start, end))
        return _ranges(dict.fromkeys(ends, (0, 0)), starts, ends)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return read_range(self._settings, cast("OffsetRange", partition))


def _text_keys(offsets: Mapping[int, int]) -> dict[str, int]:
    return {str(id): offset for id, offset in sorted(offsets.items())}


def _ends(bounds: Mapping[int, tuple[int, int]]) -> dict[int, int]:
    return {id: end for id, (_, end) in bounds.items()}


def _ranges(
    bounds: Mapping[int, tuple[int, int]], starts: Mapping[int, int], ends: Mapping[int, int]
) -> list[OffsetRange]:
    found = [OffsetRange(id, max(low, starts.get(id, 0)), ends[id]) for id, (low, _) in sorted(bounds.items())]
    return [each for each in found if each.start < each.end]


def admitted(starts: Mapping[int, int], ends: Mapping[int, int], limit: int) -> dict[int, int]:
    """Return the ends of a micro-batch of at most `limit` offsets, shared by partitions in proportion to their lag."""
    lags = {id: end - starts.get(id, 0) for id, end in ends.items()}
    total = sum(lags.values())
    if total <= limit:
        return dict(ends)
    shares = {id: lag * limit // total for id, lag in lags.items()}
    rest = limit - sum(shares.values())
    for id in sorted(lags, key=lambda id: shares[id] - lags[id] * limit / total):
        if rest and shares[id] < lags[id]:
            shares[id] += 1
            rest -= 1
    return {id: starts.get(id, 0) + share for id, share in shares.items()}


def log_bounds(settings: Settings) -> dict[int, tuple[int, int]]:
    """Return the first offset of each partition to read, and the offset after its last record.

    With `read_committed`, the last record is the one before the first open transaction.

    Raises:
        ClusterError: The topic does not exist, or the brokers did not answer in time.
        IllegalArgumentError: A partition does not exist.
    """
    admin = settings.log.settings.admin()
    known = settings.log.partitions(admin)
    ids = known if settings.partitions is None else settings.partitions
    for id in sorted(set(ids) - set(known)):
        raise IllegalArgumentError(f"topic {settings.log.topic} has {len(known)} partitions and no partition {id}")
    return settings.log.bounds(admin, ids)


def read_range(settings: Settings, wanted: OffsetRange) -> Iterator[pa.RecordBatch]:
    """Yield the records that the log still has in a range of offsets.

    Raises:
        ClusterError: The partition cannot be read, or the brokers sent nothing for `timeoutSeconds`.
    """
    schema = to_arrow_schema(CLUSTER_RECORDS)
    for batch in settings.log.read({wanted.partition: (wanted.start, wanted.end)}):
        cluster = pa.repeat(settings.cluster, batch.num_rows)
        yield pa.RecordBatch.from_arrays([cluster, *batch.columns], schema=schema)

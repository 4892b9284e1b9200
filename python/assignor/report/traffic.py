"""Traffic of the groups of a report: records per second of each member, and whether it could be more even."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from assignor import _core
from assignor.cluster.timestamps import is_valid
from assignor.dependencies import dependency
from assignor.names import MEMBERS_ASSIGNORS
from assignor.report.lag import read_end_offsets, read_owners
from assignor.single_group import CLUSTERS, GROUPS
from assignor.traffic import COMMITS, member_traffic, partition_traffic, uneven_ratio

with dependency("pyarrow"):
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from assignor.cluster.folder import Recording


@dataclass(frozen=True, slots=True)
class Unevenness:
    """Traffic that the members of a group share unevenly.

    Attributes:
        ratio: Rate of the busiest member divided by the mean.
        bound: No assignment gives the busiest member a lower rate than this, see `assignor.WeightedBalance`.
        packed: Rate of the busiest member after longest-processing-time packing.
        heaviest: Topic, id and rate of the busiest partition.
        assignors: Rate of the busiest member with each of Kafka's assignors of this kind of group.
    """

    ratio: float
    bound: float
    packed: float
    heaviest: tuple[str, int, float]
    assignors: dict[str, float]

    def to_json(self) -> dict[str, Any]:
        """Return the object that `assignor report --json` prints."""
        topic, partition, rate = self.heaviest
        return {
            "ratio": self.ratio,
            "bound": self.bound,
            "packed": self.packed,
            "heaviest": {"topic": topic, "partition": partition, "rate": rate},
            "assignors": self.assignors,
        }


@dataclass(frozen=True, slots=True)
class GroupTraffic:
    """Traffic of a group in the window before its last commit.

    Attributes:
        seconds: Length of the window.
        records: Number of records.
        rate: Records per second of all members.
        unknown: Number of owned partitions whose traffic is not known; they count as 0.
        members: Records per second by member id; None for a member without a measurement.
        partitions: Number of partitions by member id.
        uneven: How uneven the traffic is; None if it is not, or if that is not known.
    """

    seconds: float
    records: int
    rate: float
    unknown: int
    members: dict[str, float | None]
    partitions: dict[str, int]
    uneven: Unevenness | None = None

    @property
    def least(self) -> float | None:
        """Lowest rate of a member; None if the rate of a member is not known."""
        return None if None in self.members.values() else min(self._known())

    @property
    def most(self) -> float:
        """Highest known rate of a member."""
        return max(self._known())

    def _known(self) -> list[float]:
        return [rate for rate in self.members.values() if rate is not None]

    def to_json(self) -> dict[str, Any]:
        """Return the object that `assignor report --json` prints."""
        return {
            "seconds": self.seconds,
            "records": self.records,
            "rate": self.rate,
            "unknown": self.unknown,
            "least": self.least,
            "most": self.most,
            "members": self.members,
            "uneven": None if self.uneven is None else self.uneven.to_json(),
        }


def traffic_by_group(recording: Recording, part: Path) -> dict[str, GroupTraffic]:
    """Compute the traffic of each group that has members with partitions, and commits.

    Args:
        recording: The recording, whose end offsets and topics are read.
        part: Folder with the tables `groups`, `commits`, `members` and `assignments`.
    """
    owners = read_owners(part)
    if not len(owners):
        return {}
    is_owned = pc.field("group_id").isin(pc.unique(owners["group_id"]))
    commits = pq.read_table(part / "commits", columns=[*COMMITS.names, "offset"], filters=is_owned).sort_by("offset")
    commits = commits.filter(is_valid(commits["timestamp"]))
    traffic = partition_traffic(
        commits, _ends(recording, owners), partitions=owners.select(["group_id", "topic", "partition"])
    )
    members = pq.read_table(part / "members", columns=["group_id", "member_id"])
    ids: dict[str, list[str]] = {}
    for group, member in zip(members["group_id"].to_pylist(), members["member_id"].to_pylist(), strict=True):
        ids.setdefault(group, []).append(member)
    found, busiest = group_traffic(traffic, owners, ids)
    return {**found, **dict(_judged(recording, part, found, busiest, traffic))}


def group_traffic(
    traffic: pa.Table, owners: pa.Table, members: Mapping[str, Sequence[str]]
) -> tuple[dict[str, GroupTraffic], dict[str, int]]:
    """Return the traffic of each group in which a member has a measurement, and its number of measurements.

    Args:
        traffic: Traffic of partitions, with the columns of `assignor.traffic.PARTITION_TRAFFIC`.
        owners: Owners of partitions: group_id, topic, partition and member_id, a row per partition of a member.
        members: Ids of the members of each group, those without partitions among them.

    Returns:
        The traffic, and the number of measurements of the busiest member, by group.
    """
    rows: dict[str, list[dict[str, Any]]] = {}
    for row in member_traffic(traffic, owners).to_pylist():
        rows.setdefault(row["group_id"], []).append(row)
    found: dict[str, GroupTraffic] = {}
    busiest: dict[str, int] = {}
    for group, of_members in rows.items():
        known = [row for row in of_members if row["rate"] is not None]
        if not known:
            continue
        by_id = {row["member_id"]: row for row in of_members}
        names = [*dict.fromkeys([*members.get(group, ()), *by_id])]
        found[group] = GroupTraffic(
            seconds=max(row["seconds"] for row in known),
            records=sum(row["records"] for row in known),
            rate=math.fsum(row["rate"] for row in known),  # the result of `sum` depends on the version of Python
            unknown=sum(row["unknown"] for row in of_members),
            members={name: by_id[name]["rate"] if name in by_id else 0.0 for name in names},
            partitions={name: by_id[name]["partitions"] if name in by_id else 0 for name in names},
        )
        busiest[group] = max(known, key=lambda row: row["rate"])["measurements"]
    return found, busiest


def _ends(recording: Recording, owners: pa.Table) -> pa.Table | None:
    rows = recording.end_offset_rows()
    if rows is None:
        return None
    chosen = pc.field("topic").isin(pc.unique(owners["topic"]))
    ends = read_end_offsets(rows, recording.end_offsets, chosen=chosen)
    return ends.filter(is_valid(ends["at"]))


def _judged(
    recording: Recording,
    part: Path,
    found: Mapping[str, GroupTraffic],
    busiest: Mapping[str, int],
    traffic: pa.Table,
) -> Iterator[tuple[str, GroupTraffic]]:
    """Yield the groups whose members share the traffic unevenly."""
    candidates = [name for name, each in found.items() if _ratio(each, busiest[name], packed=0.0) is not None]
    if not candidates:
        return
    is_chosen = pc.field("group_id").isin(pa.array(candidates, pa.string()))
    rows = {row["group_id"]: row for row in pq.read_table(part / "groups", filters=is_chosen).to_pylist()}
    members, spans = (pq.read_table(part / name, filters=is_chosen).to_pylist() for name in ("members", "assignments"))
    counts = _partition_counts(recording)
    for name in candidates:
        kind = rows[name]["kind"]
        of_group = traffic.filter(pc.equal(traffic["group_id"], name))
        rates = {(row["topic"], row["partition"]): row["rate"] or 0.0 for row in of_group.to_pylist()}
        if kind not in MEMBERS_ASSIGNORS:
            continue
        of_members = [row for row in members if row["group_id"] == name]
        current = [row for row in spans if row["group_id"] == name]
        owned: dict[str, int] = {}
        for topic, partition in rates:
            owned[topic] = max(owned.get(topic, 0), partition + 1)
        # Without topic metadata, the partitions with an owner or a commit are known.
        known = {**counts, **{topic: max(count, counts.get(topic, 0)) for topic, count in owned.items()}}
        balances = _balances(known, rates, of_members, current, MEMBERS_ASSIGNORS[kind], kind)
        if balances is None:
            continue
        now, assignors = balances
        ratio = _ratio(found[name], busiest[name], packed=now["packed_weight"])
        if ratio is not None:
            heaviest = max(rates, key=lambda place: rates[place])
            uneven = Unevenness(
                ratio, now["weight_bound"], now["packed_weight"], (*heaviest, rates[heaviest]), assignors
            )
            yield name, replace(found[name], uneven=uneven)


def _ratio(each: GroupTraffic, measurements: int, *, packed: float) -> float | None:
    return uneven_ratio(
        [*each.partitions.values()],
        [*each.members.values()],
        records=each.records,
        seconds=each.seconds,
        measurements=measurements,
        packed=packed,
    )


def _partition_counts(recording: Recording) -> dict[str, int]:
    """Return the number of partitions of each topic of the last snapshot."""
    topics = recording.topics()
    if not len(topics):
        return {}
    last = topics.filter(pc.equal(topics["t"], pc.max(topics["t"])))
    grouped = last.group_by("topic").aggregate([("partition", "max")])
    return dict(
        zip(grouped["topic"].to_pylist(), (end + 1 for end in grouped["partition_max"].to_pylist()), strict=True)
    )


def _balances(
    counts: Mapping[str, int],
    rates: Mapping[tuple[str, int], float],
    members: list[dict[str, Any]],
    current: list[dict[str, Any]],
    assignors: tuple[str, ...],
    kind: str,
) -> tuple[dict[str, Any], dict[str, float]] | None:
    """Return the balance of the current assignment, and the highest rate of a member with each assignor.

    Return None if the subscription of a member is not known.
    """
    if any(member["topics"] is None for member in members):
        return None
    names = {topic for member in members for topic in member["topics"]} | {topic for topic, _ in rates}
    topics = [
        {
            "topic": topic,
            "partitions": counts[topic],
            "weights": [rates.get((topic, id), 0.0) for id in range(counts[topic])],
        }
        for topic in sorted(names & counts.keys())
    ]
    engine = _core.Clusters(pa.array([[{"cluster": "", "topics": topics}]], CLUSTERS))
    groups = [
        {
            "cluster": "",
            "group_id": assignor,
            "members": [{**_member(member), "assignor": assignor, "group_protocol": kind} for member in members],
            "current": [{name: row[name] for name in ("member_id", "topic", "start", "count")} for row in current],
        }
        for assignor in assignors
    ]
    column = pa.array(groups, GROUPS)
    (now,) = engine.current_balance(column.slice(0, 1))
    # Without steps, a scenario is the next rebalance and those that follow it.
    (after,) = engine.what_if(column, [("next", None, [])])
    found = pa.array(now).to_pylist()[0]
    if found["packed_weight"] is None:
        return None
    rows = zip(assignors, pa.array(after).to_pylist(), strict=True)
    return found, {name: row["most_weight"] for name, (row,) in rows if row["most_weight"] is not None}


def _member(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in ("member_id", "group_instance_id", "rack", "topics")}

"""Random groups whose members, subscriptions and topics change from round to round.

Each round is a case in the format of the vectors, which Kafka's assignors answer. In each round a member owns the
partitions of Kafka's previous answer. Some rounds have invalid claims: two members claim a partition, a member claims a
deleted partition, or its user data is old or cannot be decoded. In some share groups, partitions become assignable only
after some rounds.
"""

from __future__ import annotations

import random
import struct
import uuid
from collections.abc import Callable, Iterator
from typing import Any

Json = dict[str, Any]
Entry = tuple[str, int]
Answer = Callable[[Json], Json]

RACKS = ("rack-0", "rack-1", "rack-2")
_PREFIXES = (("t", "member"), ("orders-", "consumer-grp-"), ("Aa", "BB"), ("～", "\U00010000"), ("é", "\ue000"))


class Member:
    """Member between rounds.

    Attributes:
        member_id: The member id, which changes with a restart.
        topics: The subscription.
        instance_id: The instance id; None for a dynamic member.
        rack: The rack.
        owned: The partitions of Kafka's last answer, in order.
        generation: The round of that answer; -1 before the first assignment.
    """

    def __init__(self, member_id: str, topics: list[str], instance_id: str | None, rack: str | None) -> None:
        self.member_id = member_id
        self.topics = topics
        self.instance_id = instance_id
        self.rack = rack
        self.owned: list[Entry] = []
        self.generation = -1


class SimulatedGroup:
    """Group over several rounds.

    Args:
        kind: The name of the assignor in the vectors.
        seed: The random seed.
    """

    missing = 0.03
    """Probability that a member of a client's group misses a round."""
    first_topics: tuple[int, ...] = (0, 1, 1, 2, 3, 5, 9)
    first_members: tuple[int, ...] = (1, 2, 3, 3, 4, 5, 8, 13, 30)
    """Numbers of topics and of members of the first round, from which one is drawn."""
    name = ""
    """Name of the kind of groups in the names of cases."""

    def __init__(self, kind: str, seed: int) -> None:
        self.kind = kind
        self.seed = seed
        self.is_share = kind == "share_simple"
        self.is_server = kind.startswith("server_") or self.is_share
        self._random = random.Random(f"{kind} {seed}")
        self._topic_prefix, self._member_prefix = self._random.choice(_PREFIXES)
        self._style = self._random.choice(["all", "all", "classes", "random", "overlap"])
        self._has_racks = self._random.random() < 0.3
        self._has_statics = self._random.random() < 0.4
        self._most_partitions = self._random.choice([2, 5, 5, 12])
        self._number = 0
        self.round = 0
        self.counts: dict[str, int] = {}
        self.racks: dict[str, list[list[str]]] = {}
        self.ids: dict[str, str] = {}
        self.assignable: dict[str, set[int]] = {}
        self._is_partial = self.is_share and self._random.random() < 0.3
        self.members: list[Member] = []
        self._draw_shape()
        for _ in range(self._random.choice(self.first_topics)):
            self._create_topic()
        for _ in range(self._random.choice(self.first_members)):
            self._join()

    def _draw_shape(self) -> None:
        """Draw what a subclass adds, before the first topics and members."""

    def rebalance(self, rounds: int, answer: Answer) -> Iterator[Json]:
        """Yield the case of each round, with Kafka's answer and the tags of its defects."""
        for _ in range(rounds):
            case = with_tags(answer(self._case()))
            yield case
            self._take(case)
            for _ in range(self._random.choice([0, 1, 1, 1, 2, 3])):
                self._happen()

    def _case(self) -> Json:
        """Return the input of the next round."""
        self.round += 1
        if self._is_partial:
            self._initialize_state()
        case: Json = {
            "name": f"{self.kind}, {self.name}seed {self.seed}, round {self.round}",
            "assignor": self.kind,
            "tags": [],
        }
        members = [self._member(member) for member in self.members]
        if self._random.random() < 0.2:
            ClaimInvalidator(self, self._random).invalidate(members)
        if self.is_server:
            case["topics"] = [self._server_topic(topic, id) for topic, id in self.ids.items()]
        else:
            case["topics"] = dict(self.counts)
            if self.racks:
                case["replica_racks"] = {topic: list(self.racks[topic]) for topic in self.counts}
        if self.kind in ("range", "roundrobin"):
            members = [
                {field: member[field] for field in member.keys() - {"owned", "generation"}} for member in members
            ]
        for member in members:
            if self.kind == "sticky" and "user_data" not in member:
                given = member["previous"]
                if given["partitions"] or given["generation"] is not None:
                    member["user_data"] = sticky_user_data(given["partitions"], given["generation"]).hex()
        return {**case, "members": members}

    def _server_topic(self, topic: str, id: str) -> Json:
        if topic not in self.counts:
            return {"name": topic, "id": id, "deleted": True}
        found: Json = {"name": topic, "id": id, "partitions": self.counts[topic]}
        if self._is_partial:
            found["assignable"] = sorted(self.assignable.get(topic, ()))
        return found

    def _initialize_state(self) -> None:
        """Make some partitions assignable that were not."""
        for topic, count in self.counts.items():
            ready = self.assignable.setdefault(topic, set())
            ready.update(number for number in range(count) if self._random.random() < 0.4)

    def _member(self, member: Member) -> Json:
        found: Json = {"member_id": member.member_id, "topics": list(member.topics)}
        if member.instance_id is not None and not self.is_share:
            found["instance_id"] = member.instance_id
        if member.rack is not None:
            found["rack"] = member.rack
        owned = [list(entry) for entry in member.owned]
        if self.is_server:
            return {**found, "assigned": [entry for entry in owned if entry[0] in self.ids]}
        if self.kind == "sticky":
            given = None if member.generation < 0 else member.generation
            return {
                **found,
                "owned": [],
                "generation": member.generation,
                "previous": {"partitions": owned, "generation": given},
            }
        return {**found, "owned": sorted(owned), "generation": member.generation}

    def _take(self, case: Json) -> None:
        """Give the members the partitions of Kafka's answer; a few members miss the round."""
        if "error" in case:
            return
        for member in self.members:
            if self.is_server or self._random.random() > self.missing:
                member.owned = [(topic, id) for topic, id in case["expected"][member.member_id]]
                member.generation = self.round

    def _happen(self) -> None:
        """Change the group once before the next round."""
        events = [self._join, self._join, self._leave, self._leave, self._restart, self._resubscribe]
        self._random.choice([*events, self._half_leave, self._create_topic, self._grow_topic, self._delete_topic])()

    def _join(self) -> None:
        instance_id = None
        if self._has_statics and self._random.random() < 0.6:
            instance_id = f"{self._random.choice('ab～')}{self._number + 1}"
        rack = self._random.choice([*RACKS, "elsewhere", None]) if self._has_racks else None
        self.members.append(Member(self._new_id(), self._subscription(), instance_id, rack))

    def _leave(self) -> None:
        if len(self.members) > 1:
            del self.members[self._random.randrange(len(self.members))]

    def _half_leave(self) -> None:
        self.members = self._random.sample(self.members, (len(self.members) + 1) // 2)

    def _restart(self) -> None:
        member = self._random.choice(self.members)
        again = Member(self._new_id(), member.topics, member.instance_id, member.rack)
        if self.is_server and member.instance_id is not None:
            again.owned = member.owned  # the broker moves the target to the new id of a static member
        self.members[self.members.index(member)] = again

    def _resubscribe(self) -> None:
        self._random.choice(self.members).topics = self._subscription()

    def _create_topic(self) -> None:
        topic = self._new_topic()
        self.ids[topic] = str(uuid.UUID(int=self._new_topic_id()))
        self.counts[topic] = self._random.randint(0, self._most_partitions)
        if self._has_racks:
            self.racks[topic] = []
        self._place_replicas(topic)
        if self._style == "all":
            for member in self.members:
                member.topics = list(self.counts)

    def _grow_topic(self) -> None:
        if self.counts:
            topic = self._random.choice(list(self.counts))
            self.counts[topic] += self._random.randint(1, 3)
            self._place_replicas(topic)

    def _delete_topic(self) -> None:
        if self.counts:
            topic = self._random.choice(list(self.counts))
            del self.counts[topic]

    def _place_replicas(self, topic: str) -> None:
        if self._has_racks:
            placed = self.racks[topic]
            while len(placed) < self.counts[topic]:
                placed.append(self._random.sample(RACKS, self._random.choice([1, 2, 2, 3])))

    def _subscription(self) -> list[str]:
        topics = list(self.counts)
        match self._style:
            case "all":
                return topics
            case "classes":
                half = len(topics) // 2
                return self._random.choice([topics[:half], topics[half:], topics])
            case "overlap":
                start = self._random.randint(0, max(0, len(topics) - 1))
                return topics[start : start + 3]
        wanted = [*topics, "no-such-topic"]
        return self._random.sample(wanted, self._random.randint(0, len(wanted)))

    def _new_topic(self) -> str:
        return f"{self._topic_prefix}{len(self.ids) + 1}"

    def _new_topic_id(self) -> int:
        return self._random.getrandbits(128)

    def _new_id(self) -> str:
        self._number += 1
        suffix = self._random.choice([f"-{self._random.getrandbits(32):08x}", "", "Aa", "BB"])
        return f"{self._member_prefix}{self._number}{suffix}"


class ClaimInvalidator:
    """Generator of claims that do not follow from the previous rounds."""

    def __init__(self, group: SimulatedGroup, source: random.Random) -> None:
        self._group = group
        self._random = source

    def invalidate(self, members: list[Json]) -> None:
        """Change the claims of one to three members."""
        ways = [self._same_claim, self._same_claim, self._everything, self._gone, self._unsubscribed, self._beyond]
        has_generations = self._group.kind in ("sticky", "cooperative_sticky")
        if has_generations:
            ways += [self._old_generation, self._older_claim]
        for _ in range(self._random.randint(1, 3)):
            self._random.choice(ways)(self._random.choice(members), members)
        if has_generations and self._random.random() < 0.3:
            self._legacy(self._random.choice(members))

    def _claims(self, member: Json) -> list[list[Any]]:
        if self._group.is_server:
            found: list[list[Any]] = member["assigned"]
        elif self._group.kind == "sticky":
            found = member["previous"]["partitions"]
        else:
            found = member["owned"]
        return found

    def _add(self, member: Json, entries: list[Any]) -> None:
        claims = self._claims(member)
        claims.extend(entry for entry in map(list, entries) if entry not in claims)
        if self._group.kind == "cooperative_sticky":
            claims.sort()

    def _set_generation(self, member: Json, generation: int) -> None:
        member["generation"] = generation
        if "previous" in member:
            member["previous"]["generation"] = None if generation < 0 else generation

    def _same_claim(self, member: Json, members: list[Json]) -> None:
        other = self._claims(self._random.choice(members))
        self._add(member, self._random.sample(other, self._random.randint(0, len(other))))

    def _older_claim(self, member: Json, members: list[Json]) -> None:
        self._same_claim(member, members)
        self._old_generation(member, members)

    def _old_generation(self, member: Json, _: list[Json]) -> None:
        self._set_generation(member, self._random.randint(-1, self._group.round))

    def _everything(self, member: Json, _: list[Json]) -> None:
        live = [[topic, id] for topic, count in self._group.counts.items() for id in range(count)]
        self._add(member, self._random.sample(live, len(live)))

    def _gone(self, member: Json, _: list[Json]) -> None:
        topics = [topic for topic in self._group.ids if topic not in self._group.counts]
        topics += [] if self._group.is_server else ["never-was"]
        self._add(member, [[topic, id] for topic in topics for id in range(2)])

    def _unsubscribed(self, member: Json, _: list[Json]) -> None:
        others = [topic for topic in self._group.counts if topic not in member["topics"]]
        self._add(member, [[topic, id] for topic in others for id in range(self._group.counts[topic])])

    def _beyond(self, member: Json, _: list[Json]) -> None:
        self._add(
            member, [[topic, count + self._random.randint(0, 2)] for topic, count in self._group.counts.items()][:1]
        )

    def _legacy(self, member: Json) -> None:
        """Give a sticky member old or invalid user data, or a cooperative member data that contradicts `generation`."""
        if self._group.kind == "cooperative_sticky":
            member["user_data"] = self._random.choice(["", "00", "00000007", "ffffffff", "00000063ff"])
            if self._random.random() < 0.5:
                member["generation"] = -1
            return
        claims = self._claims(member)
        match self._random.choice(["version 0", "garbage", "no field"]):
            case "version 0":
                member["previous"]["generation"] = None
                member["user_data"] = sticky_user_data(claims, None).hex()
            case "garbage":
                member["previous"] = {"partitions": [], "generation": -1}
                member["user_data"] = self._random.choice(["00", "7fffffff00", "000000010004"])
            case _:
                member["generation"] = -1


def sticky_user_data(partitions: list[list[Any]], generation: int | None) -> bytes:
    """Return the user data of StickyAssignor: version 1, or version 0 without a generation."""
    by_topic: dict[str, list[int]] = {}
    for topic, id in partitions:
        by_topic.setdefault(topic, []).append(id)
    data = struct.pack(">i", len(by_topic))
    for topic, ids in by_topic.items():
        name = topic.encode()
        data += struct.pack(f">h{len(name)}si{len(ids)}i", len(name), name, len(ids), *ids)
    return data if generation is None else data + struct.pack(">i", generation)


def with_tags(case: Json) -> Json:
    """Return an answered case with the tags of Kafka's defects that it shows."""
    topics = case["topics"]
    if isinstance(topics, list):
        topics = {topic["name"]: topic["partitions"] for topic in topics if "partitions" in topic}
    tags = set()
    if case["assignor"] == "share_simple":
        return {**case, "tags": ["error"] if "error" in case else []}
    for member in case["members"]:
        claims = member.get("assigned") or member.get("owned") or member.get("previous", {}).get("partitions", [])
        if any(topic in topics and not 0 <= id < topics[topic] for topic, id in claims):
            tags.add("out_of_range")
    if "error" in case:
        tags.add("error")
    else:
        subscribed = {member["member_id"]: member["topics"] for member in case["members"]}
        given = [(topic, id) for entries in case["expected"].values() for topic, id in entries]
        if len(set(given)) < len(given) or any(id >= topics.get(topic, 0) for topic, id in given):
            tags.add("not_a_partition")
        # Kafka's test for equal subscriptions skips members without topics at the start of its table.
        is_unequal = any(subscribed.values()) and not all(subscribed.values())
        if case.get("path") == "constrained" and is_unequal:
            tags.add("gives_unsubscribed")
        if any(topic not in subscribed[member] for member, entries in case["expected"].items() for topic, _ in entries):
            tags.add("gives_unsubscribed")
    return {**case, "tags": sorted(tags)}

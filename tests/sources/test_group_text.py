"""Text of `kafka-consumer-groups.sh --describe`, and JSON of `assignor describe`, read as groups.

The files of `tests/data/group_text` are the output of the tool of each version: that of 2.0.1 for a group of a broker
of Kafka 3.7, the others for the groups of `tests/broker/groups.py` of a broker of Kafka 4.3.
"""

from __future__ import annotations

import re
import textwrap
from pathlib import Path
from typing import Any

import pytest

from assignor import TopicPartition, check
from assignor.errors import IllegalArgumentError
from assignor.sources.group_tables import read_tables
from assignor.sources.group_text import (
    DescribedGroup,
    choose_group,
    is_description,
    is_group_text,
    read_description,
    read_group_text,
)

TEXTS = Path(__file__).parents[1] / "data/group_text"
ALL = sorted(path.name for path in TEXTS.iterdir())
COUNTS = {"orders": 6, "payments": 3, "quiet": 2}
HEADER = "GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID"


def text_of(name: str) -> str:
    return (TEXTS / f"kafka-{name}.txt").read_text()


def groups_of(text: str) -> dict[str, DescribedGroup]:
    return {group.name: group for group in read_group_text(text, "text")}


def shares(group: DescribedGroup) -> dict[str, list[str]]:
    """Return the partitions of the members as texts."""
    return {name: [f"{topic}-{id}" for topic, id in owned] for name, owned in group.assignment().items()}


@pytest.mark.parametrize("version", ["2.8.2", "3.7.2", "4.3.1"])
def test_offsets_and_members_give_the_same_owners(version: str) -> None:
    by_offsets, by_members = groups_of(text_of(f"{version}-offsets")), groups_of(text_of(f"{version}-members"))

    for name, count in {"of-librdkafka": 3, "of-kafka-python": 2}.items():
        group, other = by_offsets[name], by_members[name]
        assert count == len(group.members)
        assert {key: group.counts[key] for key in sorted(group.counts)} == dict(sorted(other.counts.items()))
        assert group.counts.items() <= COUNTS.items()
        assert dict(sorted(shares(group).items())) == dict(sorted(shares(other).items()))
        assert sum(group.counts.values()) == sum(map(len, shares(group).values()))
        assert not check(group.assignment(), group.counts, group.subscriptions()), "a healthy group has no finding"
        assert any("no members without partitions" in note for note in group.notes())
        assert not any("no members without partitions" in note for note in other.notes())
    static = {member.instance_id for member in by_members["of-librdkafka"].members.values()}
    assert {None, "a-static-one"} == static


def test_groups_of_the_new_protocol_have_epochs_and_idle_members() -> None:
    groups = groups_of(text_of("4.3.1-members") + text_of("4.3.1-state"))

    group = groups["next-generation"]
    assert ("consumer", "uniform", "Stable") == (group.protocol, group.assignor, group.state)
    assert [0, 1, 1, 1] == sorted(map(len, shares(group).values()))
    assert {3} == {subscription.generation for subscription in group.subscriptions().values()}
    assert "static-2" in {member.instance_id for member in groups["apart"].members.values()}
    classic = groups["of-librdkafka"]
    assert ("classic", "range", "Stable") == (classic.protocol, classic.assignor, classic.state)
    assert {None} == {subscription.generation for subscription in classic.subscriptions().values()}


def test_spaces_in_names_are_kept_and_a_group_column_can_be_missing() -> None:
    for name in ("2.0.1-members", "2.0.1-offsets"):
        (group,) = read_group_text(text_of(name), "text")
        assert "" == group.name
        assert [4, 3, 2] == [len(owned) for owned in group.assignment().values()]
        assert {"orders": 6, "payments": 3} == group.counts
        assert any(member.startswith("my client-") for member in group.members)
        (named,) = read_group_text(f"$ kafka-consumer-groups.sh --group billing --describe\n{text_of(name)}", "text")
        assert "billing" == named.name


def test_a_partition_without_an_owner_is_one_only_where_it_is_known() -> None:
    rows = [("orders", 0, "a"), ("orders", 3, "b"), ("orders", 1, "-"), ("old", 0, "-"), ("old", 4, "-")]
    lines = [f"g {topic} {id} 5 5 0 {owner} - -" for topic, id, owner in rows]

    (group,) = read_group_text("\n".join([HEADER, *lines]), "text")

    found = check(group.assignment(), group.counts, group.subscriptions())
    assert (TopicPartition("orders", 1), TopicPartition("orders", 2)) == found.unowned, "old has no owner at all"
    assert {"orders": 4, "old": 5} == group.counts
    assert any("topics can have more partitions" in note for note in group.notes())


def test_a_partition_with_two_owners_is_found() -> None:
    (group,) = read_group_text(f"{HEADER}\ng t 0 5 5 0 a h c\ng t 0 5 5 0 b h c\n", "text")

    assert (TopicPartition("t", 0),) == check(group.assignment(), group.counts, group.subscriptions()).doubly_owned


def test_a_later_table_replaces_an_earlier_one() -> None:
    first, second = f"{HEADER}\ng t 0 5 5 0 a h c\n", f"{HEADER}\ng t 0 5 5 0 b h c\n"

    (group,) = read_group_text(f"{first}\n$ again\n\n{second}", "text")

    assert {"a": [], "b": ["t-0"]} == shares(group), "two owners at different times are no two owners"
    assert any("more than once" in note for note in group.notes())


@pytest.mark.parametrize(
    ("state", "is_settled"),
    [("Stable", True), ("PreparingRebalance", False), ("Assigning", False), ("Reconciling", False), ("Empty", True)],
)
def test_a_rebalance_is_known_by_the_state(state: str, is_settled: bool) -> None:
    states = f"GROUP COORDINATOR (ID) ASSIGNMENT-STRATEGY STATE #MEMBERS\ng h:9092 (1) range {state} 1"

    (group,) = read_group_text(f"{HEADER}\ng t 0 5 5 0 a h c\n\n{states}", "text")

    assert (state, "range", is_settled) == (group.state, group.assignor, group.is_settled)
    assert is_settled != any("in a rebalance" in note for note in group.notes())


def test_a_rebalance_is_known_by_the_warning_and_by_target_assignments() -> None:
    rebalancing = groups_of(text_of("4.3.1-members"))["rebalancing"]
    assert not rebalancing.is_settled
    text = text_of("4.3.1-members").replace("payments:0          \n", "payments:0,1        \n")
    group = groups_of(text)["next-generation"]
    assert not group.is_settled
    assert groups_of(text_of("4.3.1-members"))["next-generation"].is_settled


@pytest.mark.parametrize("name", ["2.8.2-offsets", "3.7.2-members", "3.9.1-offsets", "4.3.1-members", "4.3.1-state"])
@pytest.mark.parametrize("width", [60, 80, 110, 170])
def test_lines_that_a_terminal_wrapped_are_joined(name: str, width: int) -> None:
    lines = text_of(name).splitlines()
    wrapped = [line[start : start + width] for line in lines for start in range(0, max(len(line), 1), width)]

    for pieces in (wrapped, [piece.rstrip() for piece in wrapped]):
        expected = [cells for table in read_tables(lines) for _, cells in table.rows]
        assert expected == [cells for table in read_tables(pieces) for _, cells in table.rows]
        assert expected


def test_tabs_single_spaces_and_soft_wraps_are_read() -> None:
    text = text_of("4.3.1-offsets")
    expected = {name: shares(group) for name, group in groups_of(text).items()}
    forms = {
        "tabs": re.sub(" {2,}", "\t", text),
        "spaces": re.sub(" {2,}", " ", text),
        "indented": textwrap.indent(text, "    "),
        "crlf": text.replace("\n", "\r\n"),
    }

    for form, changed in forms.items():
        assert expected == {name: shares(group) for name, group in groups_of(changed).items()}, form
    short = "\n".join([HEADER, *(f"g topic-{id} {id} 5 5 0 member-{id} host client" for id in range(4))])
    soft = "\n".join(part for line in short.splitlines() for part in textwrap.wrap(line, 25))
    assert soft.count("\n") > 8
    assert shares(groups_of(short)["g"]) == shares(groups_of(soft)["g"])


def test_lines_that_cannot_be_read_and_cut_assignments_are_named() -> None:
    text = f"{HEADER}\ng t 0 5 5 0 a h c\ng t one 5 5 0 a h c\n$ _\n"
    (group,) = read_group_text(text, "text")
    assert "2 lines cannot be read, the first is line 3" in group.notes()
    columns = "GROUP CONSUMER-ID HOST CLIENT-ID #PARTITIONS ASSIGNMENT"
    (group,) = read_group_text(f"{columns}\ng a h c 3 t(0,1)\ng b h c 1 t(5\n", "text")
    assert any("member 'a' has 2 partitions here, and 3 by its #PARTITIONS" in note for note in group.notes())
    assert any("the assignment in line 3 cannot be read" in note for note in group.notes())


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("\nError: Consumer group 'g' does not exist.\n", "text describes no group: group 'g' does not exist"),
        (
            "\nError: Executing consumer group command failed due to timeout",
            "text describes no group: Executing consumer group command failed due to timeout",
        ),
        ("", "text describes no group"),
        ("any text\nof lines", "text describes no group"),
    ],
)
def test_a_text_without_a_group_is_refused(text: str, reason: str) -> None:
    with pytest.raises(IllegalArgumentError) as error:
        read_group_text(text, "text")

    assert reason == str(error.value)


@pytest.mark.parametrize(
    ("name", "group", "reason"),
    [
        ("4.3.1-members", "offsets-only", "group 'offsets-only' has no members, so there is nothing to assign"),
        ("4.3.1-members", "idle", "no member owns a partition, so their subscriptions are not known"),
        ("4.3.1-members", "rebalancing", "is in state rebalancing, in which brokers return no partitions of members"),
        ("4.3.1-offsets", "rebalancing", "is in state rebalancing, in which brokers return no partitions of members"),
        ("4.3.1-state", "apart", "has 2 members, which this text does not list; describe it with --members --verbose"),
        (
            "3.9.1-members",
            "apart",
            "its assignments have no names of topics, as Kafka 3.8 and 3.9 print them; describe it with",
        ),
    ],
)
def test_a_group_that_cannot_be_assigned_has_a_reason(name: str, group: str, reason: str) -> None:
    found = groups_of(text_of(name))[group]

    with pytest.raises(IllegalArgumentError) as error:
        found.check("text")

    assert str(error.value).startswith(f"text: group '{group}'")
    assert reason in str(error.value)


def test_members_without_their_assignments_say_how_to_describe_them() -> None:
    text = re.sub(r"(?m)(#PARTITIONS|^of-\S+.*? \d+ ) .*$", r"\1", text_of("2.8.2-members"))

    with pytest.raises(IllegalArgumentError, match="describe it with --members --verbose, or without --members"):
        groups_of(text)["of-librdkafka"].check("text")


def test_names_of_topics_that_kafka_3_9_leaves_out_come_from_the_offsets() -> None:
    alone = groups_of(text_of("3.9.1-offsets"))
    for both in ("3.9.1-offsets", "3.9.1-members"), ("3.9.1-members", "3.9.1-offsets"):
        groups = groups_of("\n".join(map(text_of, both)))
        group = groups["next-generation"]
        group.check("text")
        assert 4 == len(group.members), "the idle member is in the other table"
        assert shares(alone["next-generation"]).items() <= shares(group).items()


def test_one_group_is_chosen_by_name_or_pattern() -> None:
    groups = read_group_text(text_of("4.3.1-members"), "text")

    assert "idle" == choose_group(groups, "idle", "text").name
    assert "next-generation" == choose_group(groups, "next-*", "text").name
    for pattern, reason in {
        None: "text describes several groups; choose one with --group: 'apart', 'garbage', 'idle', ",
        "of-*": "text describes several groups that match 'of-*': 'of-kafka-python', 'of-librdkafka'",
        "none": "text describes no group 'none'; it describes 'apart', ",
    }.items():
        with pytest.raises(IllegalArgumentError) as error:
            choose_group(groups, pattern, "text")
        assert str(error.value).startswith(reason)
    (nameless,) = read_group_text(text_of("2.0.1-offsets"), "text")
    assert nameless is choose_group([nameless], "any", "text")


@pytest.mark.parametrize("name", ALL)
def test_a_description_is_known_by_its_lines(name: str) -> None:
    assert is_group_text((TEXTS / name).read_text())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "GROUP STATE\ng Stable",
        "GROUP TOPIC PARTITION LEADER-EPOCH START-OFFSET LAG\ng t 0 - 0 -",
        "Dumping /d/__consumer_offsets-3/0.log",
        "[2026-11-26 22:00:00] INFO [GroupCoordinator 1]: group g (kafka.coordinator.group)",
    ],
)
def test_other_texts_are_no_description(text: str) -> None:
    assert not is_group_text(text)


def described(**changes: Any) -> dict[str, Any]:
    """Return a group as `assignor describe --json` prints it."""
    member = {"member": "a", "instance_id": None, "client_id": "c", "client_host": "h", "lag": None}
    rows = [{"topic": "t", "partition": 0, "member": "a"}, {"topic": "t", "partition": 1, "member": None}]
    group = {"group": "g", "kind": "classic", "state": "Stable", "protocol": "range", "problem": None}
    return {**group, "topics": {"t": 3}, "members": [{**member, "subscription": None}], "partitions": rows, **changes}


def test_the_json_of_describe_has_all_partitions_and_the_known_subscriptions() -> None:
    data = {"cluster": "c", "groups": [described()], "problems": []}
    assert is_description(data)

    (group,) = read_description(data, "text")

    found = check(group.assignment(), group.counts, group.subscriptions())
    assert (TopicPartition("t", 1), TopicPartition("t", 2)) == found.unowned
    assert ["guessed subscription of each member: t", "it has no racks of partitions"] == group.notes()
    members = [{**described()["members"][0], "subscription": {"topics": ["u"], "rack": "r1"}}]
    (group,) = read_description({**data, "groups": [described(members=members)]}, "text")
    assert ("u",) == group.subscriptions()["a"].topics
    assert "r1" == group.subscriptions()["a"].rack
    assert (("a", TopicPartition("t", 0)),) == check(
        group.assignment(), group.counts, group.subscriptions()
    ).not_subscribed


def test_the_json_of_earlier_versions_has_no_topics_and_no_subscriptions() -> None:
    old = described()
    del old["topics"], old["members"][0]["subscription"]

    (group,) = read_description({"cluster": "c", "groups": [old], "problems": []}, "text")

    assert {"t": 2} == group.counts
    assert "topics can have more partitions than it names" in group.notes()


def test_a_topic_that_the_client_cannot_describe_has_at_least_the_partitions_in_use() -> None:
    data = {"cluster": "c", "groups": [described(topics={"t": None})], "problems": []}

    (group,) = read_description(data, "text")

    assert {"t": 2} == group.counts
    assert "topics can have more partitions than it names" in group.notes()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"problem": "no permission"}, "text: group 'g' cannot be used: no permission"),
        ({"kind": "streams"}, "text: group 'g' cannot be used: it is a streams group"),
        ({"members": [], "partitions": [], "state": "Empty"}, "text: group 'g' has no members, so"),
        ({"state": ""}, ""),
        ({"state": "", "partitions": []}, "text: group 'g' is in state unknown, in which"),
    ],
)
def test_a_group_of_the_json_that_cannot_be_assigned_has_a_reason(changes: dict[str, Any], reason: str) -> None:
    (group,) = read_description({"cluster": "c", "groups": [described(**changes)], "problems": []}, "text")

    if not reason:
        group.check("text")
        assert not group.is_settled
        return
    with pytest.raises(IllegalArgumentError) as error:
        group.check("text")
    assert str(error.value).startswith(reason)


@pytest.mark.parametrize("groups", [[{}], [1], None, [described(members=[{}])], [described(topics=[1])]])
def test_json_of_another_form_is_refused(groups: Any) -> None:
    with pytest.raises(IllegalArgumentError, match=r"^text is not the output of `assignor describe --json`: "):
        read_description({"cluster": "c", "groups": groups, "problems": []}, "text")

"""Hypothesis programs for one classic group: any request of a member, in any order and at any time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

from assignor import Subscription
from assignor.coordinator import LeavingMember
from assignor.wire import encode_subscription
from tests.coordinator.driver import RANGE

if TYPE_CHECKING:
    from tests.coordinator.driver import GroupDriver

NAMES = st.sampled_from("abcd")
INSTANCES = st.sampled_from([None, None, "i", "j", ""])
METADATA = [RANGE[0][1], encode_subscription(Subscription(("t0", "t1"))), b"", b"\0\0" + b"\xff" * 4]
OFFERS = st.lists(
    st.tuples(st.sampled_from(["range", "sticky", "roundrobin"]), st.sampled_from(METADATA)), max_size=3
).map(tuple)
USUAL = st.sampled_from([RANGE, RANGE, (*RANGE, ("sticky", METADATA[1])), (("sticky", b""), *RANGE)])


def steps() -> st.SearchStrategy[list[tuple[str, dict[str, Any]]]]:
    """Return a strategy for the steps of a program: a verb of `run_step` and its arguments."""
    usual = st.one_of(
        _step("wait", milliseconds=st.sampled_from([1, 50, 500, 3_000, 9_999, 10_000, 61_000])),
        _step("join", name=NAMES, protocols=USUAL, version=st.integers(0, 9)),
        _step("join", name=NAMES, protocols=USUAL, version=st.integers(5, 9), group_instance_id=INSTANCES),
        _step("rejoin", name=NAMES, protocols=USUAL, version=st.integers(0, 9)),
        _step("sync", name=NAMES),
        _step("heartbeat", name=NAMES),
        _step("leave", name=NAMES),
        _step("commit", name=NAMES, offset=st.integers(0, 9)),
    )
    hostile = st.one_of(
        _step("join", name=NAMES, protocols=OFFERS, protocol_type=st.sampled_from(["consumer", "connect", ""])),
        _step(
            "join", name=NAMES, session_timeout_ms=st.sampled_from([0, 6_000, 10_000]), rebalance_timeout_ms=st.just(0)
        ),
        _step("heartbeat", name=NAMES, generation_id=st.integers(-1, 3), group_instance_id=INSTANCES),
        _step("sync", name=NAMES, generation_id=st.integers(-1, 3), group_instance_id=INSTANCES),
        _step("remove", instance_id=st.sampled_from(["i", "j"])),
        _step("delete"),
        _step("disconnect", name=NAMES),
        _step("back", milliseconds=st.integers(1, 20_000)),
    )
    return st.lists(st.one_of(usual, usual, usual, hostile), max_size=60)


def run_step(driver: GroupDriver, step: tuple[str, dict[str, Any]]) -> None:
    """Run one step. Members use the ids and generations of the answers so far."""
    verb, fields = step[0], dict(step[1])
    if verb == "wait":
        driver.wait(fields["milliseconds"])
    elif verb == "back":
        driver.now = max(0, driver.now - fields["milliseconds"])
    elif verb == "join":
        answer = driver.join(member_id="", **fields)
        if answer is not None and answer.error_code.name == "MEMBER_ID_REQUIRED":
            driver.ids[fields["name"]] = answer.member_id
    elif verb == "rejoin":
        driver.join(**fields)
    elif verb == "sync":
        assignment = {name: name.encode() for name in driver.ids}
        driver.sync(fields.pop("name"), assignment, **fields)
    elif verb == "heartbeat":
        driver.heartbeat(fields.pop("name"), **fields)
    elif verb == "leave":
        if fields["name"] in driver.ids:
            driver.leave(fields["name"])
    elif verb == "commit":
        driver.commit(**fields)
    elif verb == "remove":
        driver.leave("admin", members=[LeavingMember("", fields["instance_id"])])
    elif verb == "delete":
        driver.collect(driver.coordinator.delete_group("orders", driver.now, ("admin", "delete")))
    else:
        member_id = driver.ids.get(fields["name"], "")
        driver.collect(driver.coordinator.disconnected("orders", member_id, driver.now))


def _step(verb: str, **fields: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[str, dict[str, Any]]]:
    return st.tuples(st.just(verb), st.fixed_dictionaries(fields))

"""Comparison of recorded generations and epochs with the answers of their assignors.

The metadata that the leader or the broker used is not recorded: a recording has snapshots of topic metadata at some
times only. A generation is *equal* if the assignor gives the recorded assignment for the metadata around its time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from assignor.errors import WireError
from assignor.reference.assign import ASSIGNORS
from assignor.reference.history.assignment import RecordedAssignment, member_of_generation, members_of_target
from assignor.reference.history.explanation import explain
from assignor.reference.history.leader import other_client

if TYPE_CHECKING:
    from assignor.reference.history.metadata import Metadata
    from assignor.reference.replay import ParsedMember, TargetAssignment

__all__ = ["Comparison", "compare", "compare_target"]


class Comparison(NamedTuple):
    """Result of the comparison of a generation or epoch.

    `group_protocol` and `assignor` name the assignor. `outcome` is `equal`, `different` or `unknown`. `remarks` explain
    why the generation is not equal, and name subscriptions that Kafka rejects.
    """

    group_protocol: str
    assignor: str
    outcome: str
    remarks: list[str]


def compare(
    assignor: str, parsed: list[ParsedMember], leader: str | None, time: int, metadata: Metadata
) -> Comparison | None:
    """Compare the assignment of a generation with the answer of a classic assignor.

    Return None if all members can be parsed but there is no topic metadata.
    """
    remarks = []
    members = []
    for member in parsed:
        if not isinstance(member.subscription, WireError) and not isinstance(member.assignment, WireError):
            members.append(member_of_generation(member, member.subscription, member.assignment))
            if member.subscription.strict_error is not None:
                strict_error = member.subscription.strict_error
                remarks.append(f"Kafka cannot parse the subscription of {member.id}: {strict_error}")
        if isinstance(member.subscription, WireError):
            remarks.append(f"the subscription of {member.id} cannot be read: {member.subscription}")
        if isinstance(member.assignment, WireError):
            remarks.append(f"the assignment of {member.id} cannot be read: {member.assignment}")
    if len(members) < len(parsed):
        return Comparison("classic", assignor, "unknown", remarks)
    explanation = explain(RecordedAssignment("classic", assignor, members, metadata), time)
    if explanation is None:
        return None
    if explanation.remark:
        remarks.append(explanation.remark)
    if explanation.is_unexplained and (other := other_client(assignor, parsed, leader)):
        remarks.append(other)
    return Comparison("classic", assignor, "equal" if explanation.is_equal else "different", remarks)


def compare_target(target: TargetAssignment, metadata: Metadata) -> Comparison | None:
    """Compare a target assignment with the answer of the broker's assignor.

    If several assignors have the most votes, one equal answer is enough. Return None if an assignor is not one of
    Kafka's, if there is no topic metadata or, except for range, if the log lacks the previous target assignment.
    """
    comparisons = []
    for assignor in target.assignors:
        if ("consumer", assignor) not in ASSIGNORS or not (assignor == "range" or target.has_predecessor):
            return None
        explanation = explain(
            RecordedAssignment("consumer", assignor, members_of_target(target), metadata), target.timestamp
        )
        if explanation is None:
            return None
        outcome = "equal" if explanation.is_equal else "different"
        comparisons.append(
            Comparison("consumer", assignor, outcome, [explanation.remark] if explanation.remark else [])
        )
    return next((found for found in comparisons if found.outcome == "equal"), comparisons[0])

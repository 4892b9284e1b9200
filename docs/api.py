"""API reference from signatures and docstrings: the generated parts of the pages in `PAGES`.

A docstring has paragraphs and sections: Args, Attributes and Raises become lists, Returns a paragraph. Examples are
left out. A name in backticks becomes a link if a page describes it.
"""

from __future__ import annotations

import ast
import enum
import functools
import importlib
import inspect
import itertools
import json
import operator
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from assignor import _core, errors

WIDTH = 72
"""Longest signature on one line."""

LISTS = {"Args": "Arguments", "Attributes": "Attributes", "Raises": "Raises"}
"""Sections whose entries have names, and their titles on the page."""


class Entry(NamedTuple):
    """A function or class that the page describes, such as `assign` or `assignor.wire.decode_subscription`."""

    path: str

    def value(self) -> Any:
        """Import the function or class."""
        module, _, name = self.path.rpartition(".")
        return getattr(importlib.import_module(module or "assignor"), name)

    def module(self) -> str:
        """Return the module without the package; empty for a name of the package."""
        return self.path.rpartition(".")[0].removeprefix("assignor.")

    def name(self) -> str:
        """Return the name without the module."""
        return self.path.rpartition(".")[2]

    def heading(self) -> str:
        """Return the text of the heading; with `class`, the anchors of `Plan` and `plan` differ."""
        return f"class {self.path}" if inspect.isclass(self.value()) else self.path


def described(names: str, module: str = "") -> tuple[Entry, ...]:
    """Return the entries of names of the package or of one of its modules."""
    return tuple(Entry(f"assignor.{module}.{name}" if module else name) for name in names.split())


PAGES: Mapping[str, Mapping[str, tuple[Entry, ...]]] = {
    "reference.md": {
        "assignment": described("assign plan Plan Diff Balance WeightedBalance Spans check Findings"),
        "input": described(
            "Subscription TopicPartition PartitionInfo Topics Group TopicColumns MemberColumns MemberInfo",
        ),
        "assignors": (
            *described("PartitionAssignor RebalanceProtocol"),
            *described("RangeAssignor RoundRobinAssignor StickyAssignor CooperativeStickyAssignor"),
            *described("UniformAssignor RangeAssignor SimpleAssignor", "server"),
            *described("StreamsStickyAssignor StreamsMember MemberTasks", "server"),
        ),
        "patterns": (
            *described("match_topics resolve TopicMatcher explain_pattern validate_topic"),
            *described("TopicPattern", "matching"),
        ),
        "wire": (
            *described("decode_subscription DecodedSubscription encode_subscription", "wire"),
            *described("decode_assignment DecodedAssignment encode_assignment", "wire"),
            *described("decode_streams_subscription StreamsSubscription decode_streams_assignment", "wire"),
            *described("StreamsAssignment StreamsTask StreamsHost", "wire"),
            *described("decode_connect_subscription ConnectSubscription decode_connect_assignment", "wire"),
            *described("ConnectAssignment ConnectorTask", "wire"),
        ),
        "offsets": described("decode_record Record encode_record decode_batch coordinator_partition", "offsets"),
        "replay": described("Replay", "replay"),
    },
    "reference-state-machines.md": {
        "member": described("Member MemberState HeartbeatRequest HeartbeatResponse", "member"),
        "member events": (
            *described("Subscribe Leave Poll Tick CoordinatorFound CoordinatorLost MetadataArrived", "member.events"),
            *described("HeartbeatSent ResponseReceived TransportFailed", "member.events"),
            *described("CommitDone CommitFailed CallbackDone CallbackFailed", "member.events"),
        ),
        "member effects": (
            *described("FindCoordinator SendHeartbeat RequestMetadata PauseFetching Commit", "member.effects"),
            *described("CallPartitionsRevoked CallPartitionsAssigned CallPartitionsLost", "member.effects"),
            *described("ReleaseAssignment LeaveCompleted RaiseError WakeAt", "member.effects"),
        ),
        "coordinator": described(
            "Coordinator CoordinatorConfig Effects Write LogRecord Answer Rebalance RebalanceCause GroupState "
            "ErrorCode",
            "coordinator",
        ),
        "coordinator requests": described(
            "JoinGroupRequest SyncGroupRequest HeartbeatRequest LeaveGroupRequest LeavingMember OffsetCommitRequest "
            "OffsetToCommit",
            "coordinator",
        ),
        "coordinator responses": described(
            "JoinGroupResponse JoinGroupMember SyncGroupResponse HeartbeatResponse LeaveGroupResponse "
            "LeavingMemberResponse OffsetCommitResponse PartitionResponse DeleteGroupResponse GroupDescription "
            "DescribedMember",
            "coordinator",
        ),
        "subscription state": (
            *described("SubscriptionState"),
            *described("SubscriptionType SubscriptionPattern ConsumerRebalanceListener", "subscription_state"),
            *described("FetchState FetchPosition LeaderAndEpoch Node EpochEndOffset", "subscription_state"),
            *described("OffsetAndMetadata LogTruncation IsolationLevel", "subscription_state"),
            *described("AutoOffsetResetStrategy StrategyType", "subscription_state"),
        ),
    },
}
"""Pages with their generated parts, and the functions and classes of each part."""


def section(page: str, name: str) -> str:
    """Return one generated part: functions and classes with their methods."""
    return "\n\n".join(text for entry in PAGES[page][name] for text in description(entry, page))


def description(entry: Entry, page: str) -> Iterator[str]:
    """Return heading, signature and docstring of a function or class, then those of its methods."""
    value = entry.value()
    docstring = inspect.getdoc(value) or ""
    listed = docstring.partition("Attributes:")[2]
    yield f"### {entry.heading()}"
    yield from signature(entry.name(), value)
    found = dict(members(value)) if inspect.isclass(value) else {}
    links = {name: link for name, link in targets(page, entry.module()).items() if name not in found}
    yield from blocks(docstring, links)
    if rows := [
        *(enum_members(value) if inspect.isclass(value) and issubclass(value, enum.Enum) else ()),
        *(row for name, row in properties(found, links) if f"\n    {name}: " not in listed),
    ]:
        yield f"{'Properties' if listed else 'Attributes'}:\n\n" + "\n".join(rows)
    elsewhere: dict[str, list[str]] = {}
    for name, method in found.items():
        if not callable(method):
            continue
        path = f"{entry.name()}.{name}"
        first, target = method_headings()[key(method)]
        if (first, target) != (path, page):
            link = f"{'' if target == page else target}#{anchor(first)}"
            elsewhere.setdefault(first.rpartition(".")[0], []).append(f"[`{name}`]({link})")
            continue
        yield f"#### {path}"
        yield from signature(path, method, is_method=not is_bound(value, name))
        yield from blocks(inspect.getdoc(method) or "", links)
    for owner, names in elsewhere.items():
        yield f"Inherited, and described under `{owner}`: {', '.join(names)}."


def signature(name: str, value: Any, *, is_method: bool = False) -> Iterator[str]:
    """Yield the signature as a block of code, one parameter per line if it is long.

    Yield nothing for a protocol, an enum, or a class that callers cannot create.
    """
    if inspect.isclass(value) and (getattr(value, "_is_protocol", False) or issubclass(value, enum.Enum)):
        return
    if is_compiled(value) and value.__text_signature__ is None:  # callers cannot create a Plan
        return
    parameters = list(inspect.signature(value).parameters.values())[is_method:]
    texts: list[str] = []
    for before, parameter in zip([None, *parameters], parameters, strict=False):
        is_keyword = parameter.kind is parameter.KEYWORD_ONLY
        if is_keyword and (before is None or before.kind is not parameter.KEYWORD_ONLY):
            texts.append("*")
        texts.append(parameter.name if parameter.default is parameter.empty else with_default(parameter))
    line = f"{name}({', '.join(texts)})"
    if len(line) > WIDTH:
        line = "\n".join([f"{name}(", *(f"    {text}," for text in texts), ")"])
    yield f"```python\n{line}\n```"


def with_default(parameter: inspect.Parameter) -> str:
    """Return a parameter with its default as it is written in the code; `...` for a default that is private."""
    value = parameter.default
    match value:
        case enum.Enum():
            kind = type(value).__name__
            text = "..." if kind.startswith("_") else f"{kind}.{value.name}"
        case str():
            text = json.dumps(value)
        case bytes():
            text = f"b{json.dumps(value.decode())}"
        case int() if type(value) is int:
            text = f"{value:_}"
        case _:
            text = repr(value)
    return f"{parameter.name}={text}"


def members(cls: type) -> Iterator[tuple[str, Any]]:
    """Return the public properties and methods of a class and its bases in this package, without overridden ones."""
    seen = set()
    for base in cls.__mro__:
        if base.__module__.startswith("assignor.") or is_compiled(base):
            own = vars(base)
            for name in sorted(own) if is_compiled(base) else own:  # the core does not keep their order
                value = own[name]
                is_described = callable(getattr(base, name, None)) or inspect.isdatadescriptor(value)
                if name[0] != "_" and name not in seen and is_described and name not in getattr(cls, "_fields", ()):
                    seen.add(name)
                    yield name, getattr(cls, name)


def is_compiled(value: Any) -> bool:
    """Return True for a class of the core."""
    return inspect.isclass(value) and getattr(_core, value.__name__, None) is value


def is_bound(cls: type, name: str) -> bool:
    """Return True for a static or class method, whose signature has no `self`."""
    return isinstance(inspect.getattr_static(cls, name), staticmethod | classmethod)


def enum_members(cls: type[enum.Enum]) -> Iterator[str]:
    """Return a list of the members of an enum, with the docstrings that follow them."""
    meanings = member_docstrings(cls)
    for name, each in cls.__members__.items():
        value = "" if each.value == name else f" = {each.value!r}"
        yield f"* **{name}**{value}" + (f": {meanings[name]}" if name in meanings else "")


def member_docstrings(cls: type[enum.Enum]) -> dict[str, str]:
    """Return the docstrings that follow the members of an enum in its source."""
    body = ast.parse(textwrap.dedent(inspect.getsource(cls))).body[0]
    assert isinstance(body, ast.ClassDef)
    found = {}
    for before, each in itertools.pairwise(body.body):
        if isinstance(before, ast.Assign) and isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant):
            found[ast.unparse(before.targets[0])] = str(each.value.value)
    return found


def properties(found: Mapping[str, Any], links: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Return the name of each property and its entry in a list, without the example."""
    for name, value in found.items():
        if not callable(value):
            text = (inspect.getdoc(value) or "").partition("\n\nExample:\n")[0]
            yield name, f"* **{name}**: {nested(text, links)}"


def blocks(docstring: str, links: Mapping[str, str]) -> Iterator[str]:
    """Return the paragraphs and sections of a docstring as Markdown, without the example."""
    for part in re.split(r"\n\n(?! )", docstring):
        title, colon, body = part.partition(":\n")
        if title == "Example" and colon:
            continue
        if title in LISTS and colon:
            yield f"{LISTS[title]}:\n\n" + "\n".join(f"* **{name}**: {text}" for name, text in items(body, links))
        elif title == "Returns" and colon:
            yield f"Returns: {linked(inspect.cleandoc(body), links)}"
        else:
            yield linked(part, links)


def items(body: str, links: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Return names and texts of a section with one entry per name."""
    for item in re.split(r"\n(?=\S)", textwrap.dedent(body).strip()):
        name, _, text = item.partition(":")
        yield name, nested(text, links)


def nested(text: str, links: Mapping[str, str]) -> str:
    """Return the text of an entry of a list, whose further paragraphs are indented."""
    return linked(inspect.cleandoc(text), links).replace("\n\n", "\n\n  ")


def linked(text: str, links: Mapping[str, str]) -> str:
    """Return a text with one line per paragraph, with links, and with `*` escaped outside code."""
    text = re.sub(r"(?<!\n)\n(?!\n)", " ", text)
    text = re.sub(r"`?docs/([\w-]+\.md)`?", r"[\1](\1)", text)
    text = re.sub(r"`?docs/assignors/`?", "[assignors/](assignors/index.md)", text)

    def part(found: re.Match[str]) -> str:
        code = found[1]
        if code is None:
            return "\\*"
        name = code.removeprefix("assignor.")
        return f"[`{code}`]({links[name]})" if name in links else f"`{code}`"

    return re.sub(r"`([^`]*)`|\*", part, text)


def anchor(heading: str) -> str:
    """Return the anchor that GitHub generates for a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def key(method: Any) -> Any:
    """Return what identifies a method: its function, which classes that inherit it share."""
    return getattr(method, "__func__", method)


@functools.cache
def targets(page: str, module: str) -> Mapping[str, str]:
    """Return the link of each name that a page describes, for the text about a module on a page.

    A name without a module means the entry of that module, or the first entry of this name.
    """
    found: dict[str, str] = {}
    of_module = [(path, entry) for path, entry in entries() if entry.module() == module]
    for path, entry in [*of_module, *entries()]:
        link = f"{'' if path == page else path}#{anchor(entry.heading())}"
        for name in (entry.path.removeprefix("assignor."), entry.name()):
            found.setdefault(name, link)
    return found


@functools.cache
def method_headings() -> Mapping[Any, tuple[str, str]]:
    """Return the heading and the page of each method: those of the first class that has it."""
    found: dict[Any, tuple[str, str]] = {}
    for page, entry in entries():
        value = entry.value()
        if inspect.isclass(value):
            for name, method in members(value):
                if callable(method):
                    found.setdefault(key(method), (f"{entry.name()}.{name}", page))
    return found


def entries() -> list[tuple[str, Entry]]:
    """Return all entries with their pages, in the order of the pages."""
    return [(page, entry) for page, sections in PAGES.items() for found in sections.values() for entry in found]


def error_tree(base: type[BaseException] = errors.AssignorError, depth: int = 0) -> str:
    """Return the errors as nested lists, each below its base, with the built-in error that it also is."""
    builtin = [
        f"`{each.__name__}`" for each in base.__bases__ if each.__module__ == "builtins" and each is not Exception
    ]
    summary, *rest = blocks(inspect.getdoc(base) or "", {})
    indent = "  " * depth
    lines = [f"{indent}* **{base.__name__}**{f' (also {builtin[0]})' if builtin else ''}: {summary}"]
    for text in rest:
        rows = text.partition("Attributes:\n\n")[2].splitlines()
        lines += [f"{indent}  * `{row[4:].replace('**', '`', 1)}" for row in rows]
    subclasses = sorted(base.__subclasses__(), key=operator.attrgetter("__name__"))
    lines += [error_tree(each, depth + 1) for each in subclasses if each.__name__ in errors.__all__]
    return "\n".join(lines)


PARTS: Mapping[str, Callable[[], str]] = {
    **{
        f"reference {name}": functools.partial(section, page, name)
        for page, sections in PAGES.items()
        for name in sections
    },
    "reference errors": error_tree,
}

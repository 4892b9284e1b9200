"""API reference from signatures and docstrings: the generated parts of `docs/reference.md`.

A docstring has paragraphs and the sections Args, Attributes, Returns and Raises, which become lists. Examples are left
out. A name in backticks becomes a link if the page describes it.
"""

from __future__ import annotations

import enum
import functools
import importlib
import inspect
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
    has_methods: bool = True

    def value(self) -> Any:
        """Import the function or class."""
        module, _, name = self.path.rpartition(".")
        return getattr(importlib.import_module(module or "assignor"), name)

    def name(self) -> str:
        """Return the name without the module."""
        return self.path.rpartition(".")[2]

    def heading(self) -> str:
        """Return the text of the heading; with `class`, the anchors of `Plan` and `plan` differ."""
        return f"class {self.path}" if inspect.isclass(self.value()) else self.path


def described(names: str, module: str = "", *, has_methods: bool = True) -> tuple[Entry, ...]:
    """Return the entries of names of the package or of one of its modules."""
    return tuple(Entry(f"assignor.{module}.{name}" if module else name, has_methods) for name in names.split())


SECTIONS: Mapping[str, tuple[Entry, ...]] = {
    "assignment": described("assign plan Plan Diff Balance Spans check Findings"),
    "input": described(
        "Subscription TopicPartition PartitionInfo Topics Group TopicColumns MemberColumns MemberInfo",
    ),
    "assignors": (
        *described("PartitionAssignor RebalanceProtocol"),
        *described("RangeAssignor RoundRobinAssignor StickyAssignor CooperativeStickyAssignor"),
        *described("UniformAssignor RangeAssignor", "server"),
    ),
    "patterns": described("match_topics resolve TopicMatcher explain_pattern validate_topic"),
    "wire": (
        *described("decode_subscription DecodedSubscription encode_subscription", "wire"),
        *described("decode_assignment DecodedAssignment encode_assignment", "wire"),
    ),
    "offsets": described("decode_record Record encode_record decode_batch coordinator_partition", "offsets"),
    "replay": described("Replay", "replay"),
    "settings": (
        *described("Member", "member", has_methods=False),
        *described("Coordinator CoordinatorConfig", "coordinator", has_methods=False),
        *described("SubscriptionState", has_methods=False),
    ),
}
"""Generated parts of the page and what they describe."""


def section(name: str) -> str:
    """Return one generated part: functions and classes with their methods."""
    return "\n\n".join(text for entry in SECTIONS[name] for text in description(entry))


def description(entry: Entry) -> Iterator[str]:
    """Return heading, signature and docstring of a function or class, then those of its methods."""
    value = entry.value()
    yield f"### {entry.heading()}"
    yield from signature(entry.name(), value)
    links = anchors()
    if not inspect.isclass(value):
        yield from blocks(inspect.getdoc(value) or "", links)
        return
    found = dict(members(value))
    links = {name: anchor for name, anchor in links.items() if name not in found}
    yield from blocks(inspect.getdoc(value) or "", links)
    if "Attributes:" not in (inspect.getdoc(value) or "") and (rows := list(attributes(value, found, links))):
        yield "Attributes:\n\n" + "\n".join(rows)
    if not entry.has_methods:
        return
    elsewhere: dict[str, list[str]] = {}
    for name, method in found.items():
        if not callable(method):
            continue
        path = f"{entry.name()}.{name}"
        if (first := method_headings().get(key(method), path)) != path:
            elsewhere.setdefault(first.rpartition(".")[0], []).append(f"[`{name}`](#{anchor(first)})")
            continue
        yield f"#### {path}"
        yield from signature(path, method, is_method=not is_bound(value, name))
        yield from blocks(inspect.getdoc(method) or "", links)
    for owner, names in elsewhere.items():
        yield f"Inherited, and described under `{owner}`: {', '.join(names)}."


def signature(name: str, value: Any, *, is_method: bool = False) -> Iterator[str]:
    """Return the signature as a block of code, one parameter per line if it is long; nothing for an interface."""
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
    """Return a parameter with its default as it is written in the code."""
    value = parameter.default
    number = f"{value:_}" if type(value) is int else repr(value)
    return f"{parameter.name}={json.dumps(value) if isinstance(value, str) else number}"


def members(cls: type) -> Iterator[tuple[str, Any]]:
    """Return the public properties and methods that a class or its bases in this package define, without overridden."""
    seen = set()
    for base in cls.__mro__:
        if base.__module__.startswith("assignor.") or is_compiled(base):
            own = vars(base)
            for name in sorted(own) if is_compiled(base) else own:  # the core does not keep their order
                value = own[name]
                is_described = callable(getattr(base, name)) or inspect.isdatadescriptor(value)
                if name[0] != "_" and name not in seen and is_described and name not in getattr(cls, "_fields", ()):
                    seen.add(name)
                    yield name, getattr(cls, name)


def is_compiled(value: Any) -> bool:
    """Return True for a class of the core."""
    return inspect.isclass(value) and getattr(_core, value.__name__, None) is value


def is_bound(cls: type, name: str) -> bool:
    """Return True for a static or class method, whose signature has no `self`."""
    return isinstance(inspect.getattr_static(cls, name), staticmethod | classmethod)


def attributes(cls: type, found: Mapping[str, Any], links: Mapping[str, str]) -> Iterator[str]:
    """Return a list of the fields of a data class or tuple, of the members of an enum, and of properties."""
    if issubclass(cls, enum.Enum):
        yield from (f"* **{each.name}** = {each.value!r}" for each in cls)
        return
    fields = getattr(cls, "_fields", None) or getattr(cls, "__dataclass_fields__", {})
    for name in fields:
        kind = inspect.get_annotations(cls)[name]
        yield f"* **{name}**: `{getattr(kind, '__forward_arg__', kind)}`"
    for name, value in found.items():
        if name not in fields and not callable(value):
            yield f"* **{name}**: {nested(inspect.getdoc(value) or '', links)}"


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
    text = re.sub(r"`?docs/([\w-]+\.md|assignors/)`?", r"[\1](\1)", text)

    def part(found: re.Match[str]) -> str:
        code = found[1]
        if code is None:
            return "\\*"
        name = code.removeprefix("assignor.")
        return f"[`{code}`](#{links[name]})" if name in links else f"`{code}`"

    return re.sub(r"`([^`]*)`|\*", part, text)


def anchor(heading: str) -> str:
    """Return the anchor that GitHub generates for a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def key(method: Any) -> Any:
    """Return what identifies a method: its function, which classes that inherit it share."""
    return getattr(method, "__func__", method)


@functools.cache
def anchors() -> Mapping[str, str]:
    """Return the anchor of each name that the page describes, with and without its module; the first one counts."""
    found: dict[str, str] = {}
    for entry in entries():
        for name in (entry.path.removeprefix("assignor."), entry.name()):
            found.setdefault(name, anchor(entry.heading()))
    return found


@functools.cache
def method_headings() -> Mapping[Any, str]:
    """Return the first class under which the page describes each method, as the heading of the method."""
    found: dict[Any, str] = {}
    for entry in entries():
        value = entry.value()
        if inspect.isclass(value) and entry.has_methods:
            for name, method in members(value):
                if callable(method):
                    found.setdefault(key(method), f"{entry.name()}.{name}")
    return found


def entries() -> list[Entry]:
    """Return all that the page describes, in its order."""
    return [entry for found in SECTIONS.values() for entry in found]


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
    **{f"reference {name}": functools.partial(section, name) for name in SECTIONS},
    "reference errors": error_tree,
}

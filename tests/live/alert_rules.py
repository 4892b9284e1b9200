"""Alert rules of `deploy/alerts.yml`, and the part of PromQL that they use: values of metrics, sums, and comparisons.

The evaluator is for tests: an expression that it does not know is an error, never an empty result.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from prometheus_client.core import Metric

FILE = Path(__file__).parents[2] / "deploy" / "alerts.yml"

Labels = frozenset[tuple[str, str]]
Vector = dict[Labels, float]
Samples = dict[str, Vector]
"""Values of a scrape by name and labels."""

_TOKEN = re.compile(r"\s*(\[\w+\]|[A-Za-z_]\w*|\d+(?:\.\d+)?|[<>]=?|[(){}=,-]|\"[^\"]*\")")


def rules() -> dict[str, dict[str, Any]]:
    """Return the rules by the name of the alert."""
    groups = yaml.safe_load(FILE.read_text(encoding="utf-8"))["groups"]
    return {rule["alert"]: rule for group in groups for rule in group["rules"]}


def scrape(families: Sequence[Metric]) -> Samples:
    """Return the samples of metrics."""
    found: Samples = {}
    for family in families:
        for sample in family.samples:
            found.setdefault(sample.name, {})[frozenset(sample.labels.items())] = sample.value
    return found


def names(expression: str) -> set[str]:
    """Return the names of the metrics of an expression."""
    return set(re.findall(r"assignor_\w+", expression))


def label_names(rule: Mapping[str, Any]) -> set[str]:
    """Return the names of the labels that a rule groups by, selects by, or prints."""
    return labels_of(rule["expr"]) | set(re.findall(r"\$labels\.(\w+)", str(rule["annotations"])))


def labels_of(expression: str) -> set[str]:
    """Return the names of the labels that an expression groups by or selects by."""
    grouped = [name.strip() for found in re.findall(r"by \(([^)]*)\)", expression) for name in found.split(",")]
    return {*grouped, *re.findall(r"[{,]\s*(\w+)\s*(?:=|!)", expression)}


def firing(expression: str, before: Samples, now: Samples, seconds: float = 0) -> list[dict[str, str]]:
    """Return the labels of the alerts of an expression.

    Args:
        expression: The expression of a rule.
        before: Samples at the start of each range, such as `[15m]`.
        now: Current samples.
        seconds: Value of `time()`.
    """
    parser = _Parser(_tokens(expression), before, now, seconds)
    found = parser.either()
    assert parser.is_done, f"not understood: {expression}"
    assert isinstance(found, dict), f"no alert: {expression}"
    return [dict(labels) for labels in found]


def _tokens(expression: str) -> list[str]:
    found, place = [], 0
    while place < len(expression.rstrip()):
        token = _TOKEN.match(expression, place)
        assert token is not None, f"not understood: {expression[place:]}"
        found.append(token[1])
        place = token.end()
    return found


@dataclass
class _Parser:
    tokens: list[str]
    before: Samples
    now: Samples
    seconds: float

    @property
    def is_done(self) -> bool:
        return not self.tokens

    def either(self) -> Vector | float:
        found = self.comparison()
        while self._accept("or"):
            other = self.comparison()
            assert isinstance(found, dict)
            assert isinstance(other, dict)
            found = {**other, **found}
        return found

    def comparison(self) -> Vector | float:
        left = self.difference()
        if self._accept(">"):
            limit = self.difference()
            assert isinstance(left, dict)
            assert isinstance(limit, float)
            return {labels: value for labels, value in left.items() if value > limit}
        return left

    def difference(self) -> Vector | float:
        left = self.value()
        while self._accept("-"):
            right = self.value()
            assert isinstance(left, float)
            assert isinstance(right, dict)
            left = {labels: left - value for labels, value in right.items()}
        return left

    def value(self) -> Vector | float:
        token = self.tokens.pop(0)
        if token[0].isdigit():
            return float(token)
        if token == "time":
            self._expect("(", ")")
            return float(self.seconds)
        if token == "absent":
            found = self._argument()
            return {} if found else {frozenset(): 1.0}
        if token == "sum":
            self._expect("by", "(")
            by = self._names()
            return _summed(self._argument(), by)
        if token == "increase":
            self._expect("(")
            name = self.tokens.pop(0)
            assert self.tokens.pop(0).startswith("[")
            self._expect(")")
            old = self.before.get(name, {})  # an increase needs two samples
            return {labels: value - old[labels] for labels, value in self.now[name].items() if labels in old}
        assert token.startswith("assignor_"), f"not understood: {token}"
        return dict(self.now.get(token, {}))

    def _argument(self) -> Vector:
        self._expect("(")
        found = self.either()
        self._expect(")")
        assert isinstance(found, dict)
        return found

    def _names(self) -> set[str]:
        found = {self.tokens.pop(0)}
        while self._accept(","):
            found.add(self.tokens.pop(0))
        self._expect(")")
        return found

    def _accept(self, token: str) -> bool:
        if self.tokens and self.tokens[0] == token:
            del self.tokens[0]
            return True
        return False

    def _expect(self, *tokens: str) -> None:
        for token in tokens:
            assert self._accept(token), f"{token} expected before {self.tokens}"


def _summed(vector: Vector, by: set[str]) -> Vector:
    found: Vector = {}
    for labels, value in vector.items():
        key = frozenset(pair for pair in labels if pair[0] in by)
        found[key] = found.get(key, 0) + value
    return found

"""What the Rust core offers Python: the interface that both engines satisfy."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Literal, TypeVar, final, overload

import numpy as np
import numpy.typing as npt

from assignor.model import PartitionInfo, Spans, Subscription, TopicPartition

__all__ = ["Plan", "__build__", "__version__", "assign", "plan"]

__build__: str
__version__: str

_T = TypeVar("_T")

def assign(
    partitions_per_topic: Mapping[str, int | Iterable[int | PartitionInfo]],
    subscriptions: Mapping[str, Subscription | Iterable[str]],
    *,
    prefer_rack_aware: bool = False,
    engine: Literal["rust", "reference"] = "rust",
) -> dict[str, list[TopicPartition]]: ...
def plan(
    partitions_per_topic: Mapping[str, int | Iterable[int | PartitionInfo]],
    subscriptions: Mapping[str, Subscription | Iterable[str]],
    *,
    prefer_rack_aware: bool = False,
    engine: Literal["rust", "reference"] = "rust",
) -> Plan: ...

@final
class Plan(Mapping[str, list[TopicPartition]]):
    @property
    def members(self) -> tuple[str, ...]: ...
    @property
    def topics(self) -> tuple[str, ...]: ...
    def spans(self) -> Spans: ...
    def counts(self) -> npt.NDArray[np.int64]: ...
    def partitions(self, member: str) -> list[TopicPartition]: ...
    def owner(self, topic: str, partition: int) -> str | None: ...
    @overload
    def get(self, member: str, default: None = None, /) -> list[TopicPartition] | None: ...
    @overload
    def get(self, member: str, default: _T, /) -> list[TopicPartition] | _T: ...
    def __getitem__(self, member: str, /) -> list[TopicPartition]: ...
    def __iter__(self) -> Iterator[str]: ...
    def __len__(self) -> int: ...

"""Arrow columns of every layout of text, lists and integers give the same group, also in slices and in chunks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa
import pytest

from assignor import TopicColumns, assign
from tests.support.arrow_views import needs_views

if TYPE_CHECKING:
    from collections.abc import Callable

WANTED = [["a", "b"], ["b", "c"], ["c", "a"], ["a", "a"]] * 50
TOPICS = pa.table({"topic": ["a", "b", "c"], "partitions": [3, 4, 5]})
EXPECTED = assign({"a": 3, "b": 4, "c": 5}, {f"m{row:03}": topics for row, topics in enumerate(WANTED)})

NAMES = pa.array([name for topics in WANTED for name in topics])
OFFSETS = pa.array(range(0, len(NAMES) + 1, 2), pa.int32())
CODES = pa.array([index % 100 for index in range(200)], pa.int8())


REVERSED = pa.array([name for topics in reversed(WANTED) for name in topics])
"""The lists from the last to the first; the offsets of views may be in any order."""
VIEWS = ([2 * row for row in reversed(range(200))], [2] * 200)

Texts: TypeAlias = "Callable[[pa.Array], pa.Array]"

LISTS: dict[str, Callable[[Texts], pa.Array]] = {
    "list": lambda text: pa.ListArray.from_arrays(OFFSETS, text(NAMES)),
    "large list": lambda text: pa.LargeListArray.from_arrays(OFFSETS.cast(pa.int64()), text(NAMES)),
    "list of fixed size": lambda text: pa.FixedSizeListArray.from_arrays(text(NAMES), 2),
    "list view": lambda text: pa.ListViewArray.from_arrays(*VIEWS, text(REVERSED)),
    "large list view": lambda text: pa.LargeListViewArray.from_arrays(*VIEWS, text(REVERSED)),
    "dictionary of lists": lambda text: pa.DictionaryArray.from_arrays(
        CODES, pa.ListArray.from_arrays(OFFSETS[:101], text(NAMES))
    ),
}
TEXTS: dict[str, Texts] = {
    "text": lambda names: names,
    "large text": lambda names: names.cast(pa.large_string()),
    "view": lambda names: names.cast(pa.string_view()),
    "dictionary": lambda names: names.dictionary_encode(),
    "dictionary of views": lambda names: pa.DictionaryArray.from_arrays(
        names.dictionary_encode().indices.cast(pa.uint16()), names.unique().cast(pa.string_view())
    ),
}


@pytest.mark.parametrize("lists", LISTS)
@pytest.mark.parametrize("texts", TEXTS)
def test_topics_of_any_layout_give_the_same_assignment(lists: str, texts: str) -> None:
    needs_views(texts)
    table = pa.table({"member_id": list(EXPECTED), "topics": LISTS[lists](TEXTS[texts])})

    assert EXPECTED == assign(TOPICS, table)
    assert EXPECTED == assign(TOPICS, pa.concat_tables([table[:70], table[70:71], table[71:]]))
    rest = dict(list(zip(EXPECTED, WANTED, strict=True))[101:])
    assert assign({"a": 3, "b": 4, "c": 5}, rest) == assign(TOPICS, table[101:])


def test_chunks_together_may_have_more_distinct_values_than_their_index_type_allows() -> None:
    names = [f"topic{number}" for number in range(300)]
    chunks = [
        pa.DictionaryArray.from_arrays(pa.array(range(100), pa.int8()), names[at : at + 100]) for at in (0, 100, 200)
    ]
    topics = pa.table({"topic": pa.chunked_array(chunks), "partitions": [1] * 300})
    lists = [pa.FixedSizeListArray.from_arrays(chunk, 100) for chunk in chunks]
    members = pa.table({"member_id": ["a", "b", "c"], "topics": pa.chunked_array(lists)})

    expected = assign(dict.fromkeys(names, 1), {"a": names[:100], "b": names[100:200], "c": names[200:]})

    assert expected == assign(topics, members)


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize("sign", ["int", "uint"])
def test_integers_of_any_width_are_counts(bits: int, sign: str) -> None:
    counts = pa.array([3, 4, 5], pa.type_for_alias(f"{sign}{bits}"))

    assert assign({"a": 3, "b": 4}, {"m": ["a", "b"]}) == assign(
        pa.table({"topic": ["a", "b", "c"], "partitions": counts})[:2], {"m": ["a", "b"]}
    )


@pytest.mark.parametrize("layout", ["string", "large_string", "string_view", "dictionary", "null"])
def test_a_null_of_any_layout_is_no_rack(layout: str) -> None:
    needs_views(layout)
    racks = pa.array([None, None], pa.null() if layout == "null" else pa.string())
    if layout == "dictionary":
        racks = pa.DictionaryArray.from_arrays(pa.array([0, 0]), pa.array([None], pa.string()))
    elif layout != "null":
        racks = racks.cast(pa.type_for_alias(layout))
    members = pa.table({"member_id": ["m000", "m001"], "topics": WANTED[:2], "rack": racks})

    assert assign(TOPICS, members) == assign({"a": 3, "b": 4, "c": 5}, {"m000": WANTED[0], "m001": WANTED[1]})


def test_an_array_can_be_consumed_once() -> None:
    class Once:
        """Array whose capsules are always the same."""

        def __init__(self) -> None:
            self.capsules = pa.array(["a", "b"]).__arrow_c_array__()

        def __arrow_c_array__(self, requested_schema: object = None) -> object:
            return self.capsules

    names: Any = Once()  # Any, because `Once.__arrow_c_array__` returns only `object`
    assert assign({"a": 1, "b": 1}, {"m": ["a", "b"]}) == assign(TopicColumns(names, [1, 1]), {"m": ["a", "b"]})
    with pytest.raises(ValueError, match=r"^the Arrow array has already been consumed"):
        assign(TopicColumns(names, [1, 1]), {"m": ["a", "b"]})

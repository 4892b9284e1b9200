"""Page of a watch: its numbers are those of the events, and a full disk does not end the watch."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from assignor.cluster import Recording
from assignor.cluster.metadata import topics_table
from assignor.cluster.records import in_log_order
from assignor.errors import IllegalArgumentError
from assignor.lag import GROUP_LAG, PARTITION_LAG, group_lag, partition_lag
from assignor.page import html
from assignor.page.page_file import WRITE_SECONDS, PageFile
from assignor.page.watch_page import WatchPage
from assignor.replay.lag_history import LagHistory
from assignor.replay.silences import Silence, silence_events
from assignor.replay.watcher import Watcher
from tests.page.made_events import rebalance
from tests.page.page_content import content
from tests.support.recorded_fleet import RECORDING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("quick_bundle")


class WrittenPage:
    """Page of a watch that is written to a file."""

    def __init__(
        self,
        path: Path,
        notice: Callable[[str], None],
        watcher: Watcher | None = None,
        lag: Callable[[], pa.Table | None] = lambda: None,
        history: LagHistory | None = None,
        **settings: Any,
    ) -> None:
        self.page = WatchPage("kafka:9092", watcher or Watcher(), threading.Lock(), lag, history)
        self.file = PageFile(str(path), self.page, notice, **settings)

    def add(self, events: list[dict[str, Any]]) -> None:
        """Add events as a watch does."""
        self.page.add(events)
        self.file.write_if_due()


def lag(watcher: Watcher) -> pa.Table:
    """Return the lag for end offsets 3 above the committed offset; a partition without a commit ends at offset 3."""
    committed = watcher.committed()
    places = committed.group_by(["topic", "partition"]).aggregate([("committed", "max")])
    ends = pc.add(pc.fill_null(places["committed_max"], 0), 3)
    starts = pa.repeat(0, len(places)).cast(pa.int64())
    names = ["topic", "partition", "start_offset", "end_offset"]
    return partition_lag(committed, pa.table([places["topic"], places["partition"], starts, ends], names))


def test_the_page_of_a_watch_has_the_events_members_and_conditions(tmp_path: Path) -> None:
    watcher = Watcher()
    recording = Recording.open(RECORDING)
    topics = topics_table(recording.topics())
    watcher.start(is_earliest=True)
    watcher.observe_topics(topics)
    history = LagHistory()
    page = WrittenPage(tmp_path / "page.html", pytest.fail, watcher, lambda: lag(watcher), history)
    events = []
    for batch in in_log_order(recording):
        events += watcher.push(batch, {})
        history.add(events[-1]["at"], group_lag(lag(watcher)))
    page.add(events)

    data = content(tmp_path / "page.html")
    assert sum(row["rebalances"] for row in data["datasets"]["rebalances"]) == sum(
        event["event"] == "rebalance" for event in events
    )
    members = {
        (row["group"], each["member_id"]): sum(
            span["count"] for span in row["assignment"] if span["member_id"] == each["member_id"]
        )
        for row in watcher.groups()
        for each in row["members"]
    }
    assert len(members) == 39
    assert members == {(row["group"], row["member_id"]): row["partitions"] for row in data["datasets"]["members"]}
    assert data["datasets"]["what_if_members"]
    known = lag(watcher).filter(pc.is_valid(pc.field("lag")))
    unique = known.group_by(["group_id", "topic", "partition"]).aggregate([("lag", "max")])
    assert sum(row["lag"] for row in data["datasets"]["lag_of_topics"]) == pc.sum(unique["lag_max"]).as_py() > 0
    latest = {row["group_id"]: row["lag"] for row in group_lag(lag(watcher)).to_pylist() if row["lag"] is not None}
    points = [row for row in data["datasets"]["lag_over_time"] if row["start"] == events[-1]["at"]]
    assert latest == {row["group"]: row["lag"] for row in points}
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "rebalance storm since" in text
    assert "no owner for 14 partitions" in text
    assert "<h1>Consumer groups of kafka:9092</h1>" in text


def test_the_page_is_written_at_intervals_and_a_full_disk_is_a_notice_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = 0.0
    notices: list[str] = []
    path = tmp_path / "page.html"
    page = WrittenPage(path, notices.append, clock=lambda: seconds)

    page.add([rebalance("a", 1_000)])
    first = path.read_text(encoding="utf-8")
    seconds = WRITE_SECONDS - 1
    page.add([rebalance("a", 2_000, 2)])
    assert path.read_text(encoding="utf-8") == first

    seconds = WRITE_SECONDS
    monkeypatch.setattr("assignor.page.page_file.write_html", _full_disk)
    page.add([rebalance("a", 3_000, 3)])
    assert notices == ["cannot write the page: No space left on device"]
    with pytest.raises(IllegalArgumentError, match="No space left"):
        page.file.write()

    monkeypatch.undo()
    monkeypatch.setattr(html, "bundle", lambda: "/* scripts */")
    page.file.write()
    assert [3] == [row["rebalances"] for row in _merged(content(path))]


def _merged(data: dict[str, Any]) -> list[dict[str, Any]]:
    rows = data["datasets"]["rebalances"]
    return [{"rebalances": sum(row["rebalances"] for row in rows)}]


def _full_disk(*_: Any) -> None:
    raise IllegalArgumentError("cannot write the page: No space left on device")


def test_the_last_write_is_bounded_and_the_earlier_page_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    notices: list[str] = []
    is_stopped = threading.Event()
    path = tmp_path / "page.html"
    page = WrittenPage(path, notices.append, is_stopped=is_stopped.is_set, clock=lambda: 0.0)
    page.add([rebalance("a", 1_000)])
    first = path.read_text(encoding="utf-8")
    release = threading.Event()

    def slow(*_: Any) -> None:
        release.wait(60)

    monkeypatch.setattr("assignor.page.page_file.write_html", slow)
    page.file.finish(0.2)
    assert not release.is_set()
    assert [f"the page {path} lacks the last events: writing it takes longer than 0.2 s"] == notices
    assert path.read_text(encoding="utf-8") == first
    release.set()


def test_a_write_does_not_hold_up_the_end_of_a_watch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    is_stopped = threading.Event()
    release = threading.Event()
    page = WrittenPage(tmp_path / "page.html", pytest.fail, is_stopped=is_stopped.is_set)

    def slow(*_: Any) -> None:
        is_stopped.set()  # Ctrl-C while the page is written
        release.wait(60)

    monkeypatch.setattr("assignor.page.page_file.write_html", slow)
    page.add([rebalance("a", 1_000)])

    monkeypatch.undo()
    monkeypatch.setattr(html, "bundle", lambda: "/* scripts */")
    release.set()
    page.file.finish(60)
    assert [1] == [row["rebalances"] for row in _merged(content(tmp_path / "page.html"))]


def test_the_last_write_reports_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assignor.page.page_file.write_html", _full_disk)
    page = WrittenPage(tmp_path / "page.html", pytest.fail)

    for seconds in (None, 60):
        with pytest.raises(IllegalArgumentError, match="No space left"):
            page.file.finish(seconds)


def test_the_name_of_the_cluster_is_no_part_of_the_groups_of_the_page(tmp_path: Path) -> None:
    page = WrittenPage(tmp_path / "page.html", pytest.fail)
    page.add([{**rebalance("a", 1_000), "cluster": "blue"}])

    assert ["a"] == content(tmp_path / "page.html")["groups"]


def test_the_page_shows_silences_that_the_watch_reports(tmp_path: Path) -> None:
    page = WrittenPage(tmp_path / "page.html", pytest.fail)
    silences = [Silence(2_000, 92_000, (3,), False), Silence(100_000, 130_000, (0, 3), True)]
    page.add([rebalance("a", 1_000), *({**event, "cluster": "blue"} for event in silence_events(silences))])

    rows = content(tmp_path / "page.html")["datasets"]["silences"]
    assert [(row["since"], row["until"]) for row in rows] == [(2_000, 92_000), (100_000, 130_000)]
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Silence: partition 3 of __consumer_offsets had no records for" in text


def test_a_page_without_groups_is_written_if_earlier_groups_had_lag(tmp_path: Path) -> None:
    history = LagHistory()
    history.add(1_000, pa.Table.from_pylist([{"group_id": "gone", "lag": 5}], GROUP_LAG))
    page = WrittenPage(tmp_path / "page.html", pytest.fail, lag=PARTITION_LAG.empty_table, history=history)

    page.file.finish()

    data = content(tmp_path / "page.html")
    assert [] == data["groups"]
    assert [] == data["datasets"].get("lag_over_time", [])

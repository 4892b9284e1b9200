"""Offsets of partitions whose leaders do not all answer: received offsets are kept, and the other partitions named."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any
from unittest.mock import Mock

import pyarrow as pa
import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin._listoffsets import ListOffsetsResultInfo

from assignor import terminal
from assignor.cli.record import summary
from assignor.cluster import topics
from assignor.cluster.connection import ClientSettings
from assignor.cluster.log import OffsetsLog
from assignor.cluster.recorder import Progress
from assignor.cluster.topics import end_offsets, no_end_offsets, offsets
from assignor.errors import ClusterError, UnreachableError
from assignor.lag import POSITIONS
from assignor.replay import lag_meter, watch
from assignor.replay.watch import Watch
from assignor.replay.watch_loop import WatchOptions

if TYPE_CHECKING:
    from collections.abc import Mapping

NO_ANSWER = "no answer from its leader within 0.2 s"
FAILED = {1: KafkaError._TIMED_OUT, 2: KafkaError._TRANSPORT, 3: KafkaError.UNKNOWN_TOPIC_OR_PART}
"""Codes of the errors of partitions of the topic `orders`; partition 4 gets no result at all."""

PLACES = [("orders", id) for id in range(5)]


class Leaders:
    """Fake AdminClient with the methods that `offsets` calls; each partition of `orders` has another leader.

    Args:
        failed: Codes of the errors of partitions.
    """

    def __init__(self, failed: Mapping[int, int] = FAILED) -> None:
        self._failed = failed

    def list_offsets(self, wanted: Mapping[TopicPartition, Any], **_: Any) -> dict[TopicPartition, Future[Any]]:
        """Return results as confluent-kafka does; the call for partition 4 never gets a result."""
        found: dict[TopicPartition, Future[Any]] = {place: Future() for place in wanted}
        for place, future in found.items():
            if place.partition in self._failed:
                future.set_exception(KafkaException(KafkaError(self._failed[place.partition])))
            elif place.partition < 4:
                future.set_result(ListOffsetsResultInfo(10 + place.partition, -1, 0))
        return found

    def poll(self, _seconds: float) -> int:
        """Deliver nothing."""
        return 0


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch) -> ClientSettings:
    """Return settings with a short time limit, of an address without a broker."""
    monkeypatch.setattr(topics, "MARGIN_SECONDS", 0.0)
    return ClientSettings.read("127.0.0.1:1", timeout=0.2)


def test_the_offsets_of_leaders_that_answer_are_kept(settings: ClientSettings) -> None:
    found = offsets(settings, Leaders(), PLACES)

    assert {("orders", 0): (10, 10)} == found.found
    assert {("orders", 1), ("orders", 2), ("orders", 4)} == found.unanswered
    unknown = KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART).str()
    assert {id: NO_ANSWER if id != 3 else unknown for id in (1, 2, 3, 4)} == {
        id: problem for (_, id), problem in found.problems.items()
    }


def test_rows_of_end_offsets_are_those_of_leaders_that_answer(settings: ClientSettings) -> None:
    rows, unanswered = end_offsets(settings, Leaders(), PLACES, 7)

    assert [{"at": 7, "topic": "orders", "partition": 0, "start_offset": 10, "end_offset": 10}] == rows.to_pylist()
    assert "no answer for the end offsets of 3 partitions: orders[1–2 4]" == no_end_offsets(unanswered)


def test_a_connection_that_is_rejected_is_an_error(settings: ClientSettings) -> None:
    settings.errors.fatal = "wrong password"

    with pytest.raises(ClusterError, match=r"^cannot connect to 127\.0\.0\.1:1: wrong password$"):
        offsets(settings, Leaders(), PLACES)


def test_ctrl_c_ends_the_wait_for_metadata(settings: ClientSettings) -> None:
    is_over = threading.Event()
    client = Mock(list_topics=lambda **_: is_over.wait(5), poll=Mock(side_effect=KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        settings.metadata(client)
    is_over.set()


def test_metadata_is_requested_again_until_the_time_is_over() -> None:
    closed = KafkaException(KafkaError(KafkaError._TRANSPORT))
    client = Mock(list_topics=Mock(side_effect=[closed, closed, "metadata"]))

    assert "metadata" == ClientSettings.read("127.0.0.1:1", timeout=60).metadata(client)
    assert 3 == client.list_topics.call_count


def test_the_ends_of_the_log_need_all_leaders(settings: ClientSettings) -> None:
    log = OffsetsLog(settings, "orders")

    assert {0: (10, 10)} == log.bounds(Leaders(), [0])
    with pytest.raises(UnreachableError, match=r"^cannot read the offsets of topic orders: no answer from 127\.0\.0"):
        log.bounds(Leaders(), [0, 4])


def test_the_last_line_of_the_record_command_names_partitions_without_an_answer(
    settings: ClientSettings, capsys: pytest.CaptureFixture[str]
) -> None:
    _, unanswered = end_offsets(settings, Leaders(), PLACES[:2], 7)

    expected = (
        "assignor: recorded 3 records in f, 0 of aborted transactions; no answer for the end offsets of orders[1]"
    )
    terminal.notice(summary(Progress(records=3, gap=no_end_offsets(unanswered)), "f"))
    assert f"{expected}\n" == capsys.readouterr().err


def test_missing_end_offsets_are_reported_once_and_the_other_lag_is_computed(
    settings: ClientSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [(*("g", "orders"), id, "a", 4) for id in range(3)]
    committed = pa.table([pa.array(column) for column in zip(*rows, strict=True)], POSITIONS.names).cast(POSITIONS)
    answers: list[Any] = [Leaders(), Leaders(), Leaders({})]
    notices: list[str] = []
    found = Watch(settings, WatchOptions(has_lag=True), lambda _: None, notices.append)
    monkeypatch.setattr(found.watcher, "committed", lambda: committed)
    monkeypatch.setattr(
        lag_meter, "end_offsets", lambda settings, _, *args: end_offsets(settings, answers.pop(0), *args)
    )
    monkeypatch.setattr(watch, "LAG_SECONDS", 0.0)
    monkeypatch.setattr(found, "_caught_up", 0.0)

    def lags() -> list[int | None]:
        found._read_lag(30)
        assert found.lag is not None
        known: list[int | None] = found.lag["lag"].to_pylist()
        return known

    assert [6, None, None] == lags()
    assert [6, None, None] == lags()
    assert [6, 7, 8] == lags()
    assert [
        "no answer for the end offsets of 2 partitions: orders[1–2]; their lag is not known",
        "all brokers return end offsets again",
    ] == notices

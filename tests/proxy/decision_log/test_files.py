"""Decision files: whole lines, whole files, and a loop that never waits for a disk."""

import errno
import os
import re
import shutil
import threading
from dataclasses import replace
from queue import SimpleQueue

import pytest
import structlog

from tests.kit.clocks import HandClock
from tests.proxy.decision_log.logs import MINUTE_MS, begin, files_in, lines, names, written
from tests.proxy.world import until
from tsproxy.config.settings import Retention
from tsproxy.decisions import Lines
from tsproxy.proxy.decision_log import files as files_room

NAME = re.compile(r"decisions-\d{8}T\d{6}Z-proxy_1-boot\.9-(\d{4})\.jsonl")


async def test_lines_arrive_in_order_and_the_file_loses_its_suffix_when_it_is_closed(tmp_path):
    files = files_in(tmp_path)
    files.start()
    [name] = names(tmp_path)
    assert name.endswith(".jsonl.open")
    files.put([{"n": n} for n in range(1000)])
    assert files.stop(10)

    [name] = names(tmp_path)
    assert NAME.fullmatch(name)
    assert lines(tmp_path) == [{"n": n} for n in range(1000)]
    assert (files.written, files.dropped) == (1000, 0)
    assert files.high_water >= 1


async def test_a_file_that_is_full_is_closed_and_the_next_one_begun(tmp_path):
    written(tmp_path, [{"n": n, "pad": "x" * 90} for n in range(100)], size_bytes=1024)

    closed = names(tmp_path)
    assert [int(NAME.fullmatch(name)[1]) for name in closed] == list(range(1, len(closed) + 1))
    assert all((tmp_path / name).stat().st_size <= 1024 for name in closed)
    assert [line["n"] for line in lines(tmp_path)] == list(range(100))


async def test_a_file_that_is_old_is_closed_though_nothing_more_comes(tmp_path):
    clock = HandClock()
    files = files_in(tmp_path, every_ms=50, clock=clock)
    await begin(files)
    clock.ms += 51

    await until(lambda: len(list(tmp_path.glob("*.jsonl"))) == 1)
    assert files.stop(10)
    assert names(tmp_path) == [path.name for path in tmp_path.glob("*.jsonl")]


async def test_a_file_that_cannot_be_opened_is_tried_again_at_the_retries_pace(tmp_path, monkeypatch):
    """A file that was closed for its age, and has no successor, stays due: the thread must not spin."""
    tries, opened, clock = [], os.open, HandClock()
    monkeypatch.setattr(files_room, "RETRY_DELAY_S", 60)

    class Queue(SimpleQueue):
        def get(self, timeout):
            pauses.append(timeout)
            return super().get(timeout=timeout)

    pauses = []
    monkeypatch.setattr(files_room, "SimpleQueue", Queue)

    def without_descriptors(path, *how):
        if str(path).endswith(".jsonl.open"):
            tries.append(path)
            raise OSError(errno.EMFILE, "Too many open files")
        return opened(path, *how)

    files = files_in(tmp_path, every_ms=50, clock=clock)
    await begin(files)
    monkeypatch.setattr(os, "open", without_descriptors)
    clock.ms += 51
    await until(files.problem)
    await until(lambda: pauses[-1] == 60)
    assert len(tries) == 1

    monkeypatch.setattr(os, "open", opened)
    files.put([{"n": 2}])  # a line does not wait for the next try
    await until(lambda: files.written == 2)
    assert files.problem() is None
    assert files.stop(10)
    assert [line["n"] for line in lines(tmp_path)] == [1, 2]


async def test_when_no_file_can_be_opened_the_folder_is_tidied_first(tmp_path, monkeypatch):
    """Perhaps there is no room for it, and files that are too old are the room."""
    opened, clock = os.open, HandClock()

    def on_a_full_disk(path, *how):
        if str(path).endswith(".jsonl.open") and list(tmp_path.glob("*.jsonl")):
            raise OSError(errno.ENOSPC, "No space left on device")
        return opened(path, *how)

    monkeypatch.setattr(files_room, "RETRY_DELAY_S", 0.01)
    monkeypatch.setattr(os, "open", on_a_full_disk)
    files = files_in(tmp_path, every_ms=50, clock=clock, retention=Retention(None, 1))
    await begin(files)
    clock.ms += 51
    await until(files.problem)
    clock.ms += MINUTE_MS
    await until(lambda: files.files_deleted == 1)
    files.put([{"n": 2}])
    await until(lambda: files.written == 2)
    assert (files.problem(), files.stop(10)) == (None, True)


async def test_a_file_without_lines_leaves_nothing_behind(tmp_path):
    written(tmp_path)

    assert names(tmp_path) == []


def moved_away(folder):
    folder.rename(folder.with_name("elsewhere"))


@pytest.mark.parametrize(("happens", "bytes_lost"), [(shutil.rmtree, 8), (moved_away, 0)])
async def test_a_file_that_somebody_took_away_is_told_of_and_followed_by_a_new_one(
    tmp_path, happens, bytes_lost
):
    folder = tmp_path / "a" / "decisions"  # neither is there yet
    files = files_in(folder)
    await begin(files)
    happens(folder)
    with structlog.testing.capture_logs() as told:
        files.put([{"n": 2}])
        assert files.stop(10)

    assert [(line["event"], line["bytes_lost"]) for line in told] == [("decision_file_removed", bytes_lost)]
    assert lines(folder) == [{"n": 2}]


async def test_what_was_written_is_forced_to_the_disk_as_often_as_configured(tmp_path, monkeypatch):
    synced, fsync = [], os.fsync

    def noting(descriptor):
        fsync(descriptor)
        synced.append(files.written)

    clock = HandClock()
    files = files_in(tmp_path, clock=clock, sync_every_ms=10)
    monkeypatch.setattr(os, "fsync", noting)
    await begin(files)
    assert synced == []
    clock.ms += 10
    files.put([{"n": 2}])
    await until(lambda: synced)
    assert files.stop(10)

    assert synced == [2]  # and not again as the file is closed: nothing had come since


async def test_files_are_not_readable_by_everybody(tmp_path):
    files = files_in(tmp_path)
    files.start()

    assert next(tmp_path.iterdir()).stat().st_mode & 0o007 == 0
    files.stop(10)


async def test_a_full_queue_drops_lines_and_counts_them(tmp_path, monkeypatch):
    """The loop never waits: here the disk hangs, and the lines behind it are lost, not the time."""
    monkeypatch.setattr(files_room, "QUEUE", replace(files_room.QUEUE, most=10))
    hang, hangs = threading.Event(), threading.Event()
    write = os.write

    def hanging(descriptor, data):
        hangs.set()
        hang.wait(20)
        return write(descriptor, data)

    monkeypatch.setattr(os, "write", hanging)
    clock = HandClock()
    files = files_in(tmp_path, clock=clock)
    files.start()
    with structlog.testing.capture_logs() as told:
        files.put([{"n": 0}])
        await until(hangs.is_set)
        for n in range(1, 100):
            files.put([{"n": n}])
    assert files.dropped == 90
    assert files.high_water == 10
    assert [(line["event"], line["lines_lost"]) for line in told] == [
        ("decision_lines_lost", 1),
        ("decision_lines_lost", 10),
    ]
    assert (files.problem(), files.slowness()) == (None, None)
    clock.ms += 3_000
    assert "the decision log's disk is slow: 3.0 s a line, 10 wait" in files.slowness()
    assert files.problem() is None
    clock.ms += files_room.PATIENCE_MS + 1
    assert "the disk does not answer" in files.problem()
    assert files.stop(0.01) is False
    hang.set()
    await until(lambda: lines(tmp_path))

    assert [line["n"] for line in lines(tmp_path)] == list(range(10))
    assert (files.written, files.problem(), files.slowness()) == (10, None, None)


async def test_lines_that_come_together_are_handed_over_together_or_not_at_all(tmp_path, monkeypatch):
    monkeypatch.setattr(files_room, "QUEUE", replace(files_room.QUEUE, most=10))
    files = files_in(tmp_path)
    files.put([{"n": n} for n in range(6)])
    files.put([{"n": n} for n in range(6, 12)])
    files.put([{"n": n} for n in range(12, 16)])
    files.start()
    assert files.stop(10)

    assert [line["n"] for line in lines(tmp_path)] == [0, 1, 2, 3, 4, 5, 12, 13, 14, 15]
    assert files.dropped == 6


@pytest.mark.parametrize("is_truncated", [False, True])
async def test_a_line_cut_short_by_a_full_disk_is_taken_back_and_written_when_there_is_room(
    tmp_path, monkeypatch, is_truncated
):
    """Also in a file that is shorter than what was written to it, as after `copytruncate` of logrotate."""
    monkeypatch.setattr(files_room, "RETRY_DELAY_S", 0.01)
    write = os.write
    files = files_in(tmp_path)
    with structlog.testing.capture_logs() as logs:
        await begin(files)
        if is_truncated:
            os.truncate(next(tmp_path.glob("*.open")), 0)
        monkeypatch.setattr(os, "write", _taking_five_bytes_then_rejecting(write))
        files.put([{"n": 2, "pad": "x" * 50}])
        await until(files.problem)
        assert "No space left on device" in files.problem()
        monkeypatch.setattr(os, "write", write)
        files.put([{"n": 3}])
        assert files.stop(10)

    assert [line["n"] for line in lines(tmp_path)] == [1, 2, 3][is_truncated:]
    assert [line["event"] for line in logs] == ["decision_log_stopped", "decision_log_resumed"]
    assert logs[0]["error"] == "No space left on device"
    assert (files.dropped, files.problem()) == (0, None)


async def test_a_disk_that_rejects_to_the_end_does_not_keep_the_proxy_from_stopping(tmp_path, monkeypatch):
    write = os.write
    files = files_in(tmp_path)
    await begin(files)
    monkeypatch.setattr(os, "write", _taking_five_bytes_then_rejecting(write))
    files.put([{"n": 2}, {"n": 3}])
    await until(files.problem)
    assert files.stop(10)

    assert lines(tmp_path) == [{"n": 1}]
    assert (files.written, files.dropped) == (1, 2)


def _taking_five_bytes_then_rejecting(write):
    has_taken = threading.Event()

    def filling(descriptor, data):
        if has_taken.is_set():
            raise OSError(errno.ENOSPC, "No space left on device")
        has_taken.set()
        return write(descriptor, data[:5])

    return filling


async def test_a_line_that_cannot_be_encoded_costs_the_lines_that_came_with_it_and_no_others(tmp_path):
    files = written(tmp_path, [{"n": 1}, {"n": object()}, {"n": 3}], [{"n": 4}])

    assert lines(tmp_path) == [{"n": 1}, {"n": 4}]
    assert files.dropped == 2


def test_lines_that_wait_are_bounded_by_their_memory_too(tmp_path, monkeypatch):
    """A tally of the decision log has up to 50 KB of histograms: 20,000 lines would be 1 GB."""
    monkeypatch.setattr(files_room, "QUEUE", replace(files_room.QUEUE, most_bytes=100_000))
    files = files_in(tmp_path)
    for _ in range(10):
        files.put(Lines([lambda: {"n": 1}], 30_000))
    assert files.dropped == 7
    files.start()
    assert files.stop(10)
    assert files.written == 3

"""Decision files: whole lines, whole files, and a loop that never waits for a disk."""

import errno
import json
import os
import re
import shutil
import threading

import pytest
import structlog

from tests.runtime.surroundings import until
from tsproxy.config.settings import Decisions
from tsproxy.runtime import decision_files
from tsproxy.runtime.decision_files import DecisionFiles

NAME = re.compile(r"decisions-\d{8}T\d{6}Z-proxy_1-boot\.9-(\d{4})\.jsonl")
HOUR_MS = 3_600_000


class HandClock:
    """A clock that is set by hand; both times are the same."""

    def __init__(self):
        self.ms = 1_800_000_000_000

    def now_ms(self):
        return self.ms

    monotonic_ms = now_ms


def files_in(folder, *, every_ms=HOUR_MS, size_bytes=1 << 20, clock=None):
    settings = Decisions(folder, every_ms, size_bytes)
    return DecisionFiles(settings, "proxy/1", "boot.9", clock or HandClock())


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def lines(folder):
    return [json.loads(line) for path in sorted(folder.glob("*.jsonl")) for line in path.open()]


async def test_lines_arrive_in_order_and_the_file_loses_its_suffix_when_it_is_closed(tmp_path):
    files = files_in(tmp_path)
    files.start()
    [name] = names(tmp_path)
    assert name.endswith(".jsonl.open")
    files.put({"n": n} for n in range(1000))
    assert files.stop(10)

    [name] = names(tmp_path)
    assert NAME.fullmatch(name)
    assert lines(tmp_path) == [{"n": n} for n in range(1000)]
    assert (files.written, files.dropped) == (1000, 0)
    assert files.high_water >= 1


async def test_a_file_that_is_full_is_closed_and_the_next_one_begun(tmp_path):
    files = files_in(tmp_path, size_bytes=1024)
    files.start()
    files.put({"n": n, "pad": "x" * 90} for n in range(100))
    assert files.stop(10)

    found = names(tmp_path)
    assert [int(NAME.fullmatch(name)[1]) for name in found] == list(range(1, len(found) + 1))
    assert all((tmp_path / name).stat().st_size <= 1024 for name in found)
    assert [line["n"] for line in lines(tmp_path)] == list(range(100))


async def test_a_file_that_is_old_is_closed_though_nothing_more_comes(tmp_path):
    clock = HandClock()
    files = files_in(tmp_path, every_ms=50, clock=clock)
    files.start()
    files.put([{"n": 1}])
    await until(lambda: files.written == 1)
    clock.ms += 51

    await until(lambda: len(list(tmp_path.glob("*.jsonl"))) == 1)
    assert files.stop(10)
    assert names(tmp_path) == [path.name for path in tmp_path.glob("*.jsonl")]


async def test_a_file_without_lines_leaves_nothing_behind(tmp_path):
    files = files_in(tmp_path)
    files.start()
    assert files.stop(10)

    assert names(tmp_path) == []


async def test_a_missing_directory_is_made(tmp_path):
    files = files_in(tmp_path / "a" / "b")
    files.start()
    files.put([{"n": 1}])
    assert files.stop(10)

    assert lines(tmp_path / "a" / "b") == [{"n": 1}]


async def test_a_directory_that_cannot_be_written_is_an_error_at_the_start(tmp_path):
    (tmp_path / "file").write_text("")

    with pytest.raises(OSError, match=r"File exists|Not a directory"):
        files_in(tmp_path / "file").start()


async def test_a_file_that_somebody_removed_is_told_of_and_followed_by_a_new_one(tmp_path):
    folder = tmp_path / "decisions"
    files = files_in(folder)
    files.start()
    files.put([{"n": 1}])
    await until(lambda: files.written == 1)
    shutil.rmtree(folder)
    with structlog.testing.capture_logs() as told:
        files.put([{"n": 2}])
        assert files.stop(10)

    assert [(line["event"], line["bytes_lost"]) for line in told] == [("decision_file_removed", 8)]
    assert lines(folder) == [{"n": 2}]


async def test_files_are_not_readable_by_everybody(tmp_path):
    files = files_in(tmp_path)
    files.start()

    assert next(tmp_path.iterdir()).stat().st_mode & 0o007 == 0
    files.stop(10)


async def test_a_full_queue_drops_lines_and_counts_them(tmp_path, monkeypatch):
    """The loop never waits: here the disk hangs, and the lines behind it are lost, not the time."""
    monkeypatch.setattr(decision_files, "QUEUE_LINES", 10)
    hang, hangs = threading.Event(), threading.Event()
    write = os.write

    def hanging(descriptor, data):
        hangs.set()
        hang.wait(20)
        return write(descriptor, data)

    monkeypatch.setattr(os, "write", hanging)
    files = files_in(tmp_path)
    files.start()
    files.put([{"n": 0}])
    await until(hangs.is_set)
    files.put({"n": n} for n in range(1, 100))
    assert files.dropped == 89
    assert files.high_water == 10
    assert files.stop(0.01) is False
    hang.set()
    await until(lambda: lines(tmp_path))

    assert [line["n"] for line in lines(tmp_path)] == list(range(11))
    assert files.written == 11


async def test_a_line_cut_short_by_a_full_disk_is_taken_back(tmp_path, monkeypatch):
    write = os.write
    files = files_in(tmp_path)
    with structlog.testing.capture_logs() as logs:
        files.start()
        files.put([{"n": 1}])
        await until(lambda: files.written == 1)
        monkeypatch.setattr(os, "write", _taking_five_bytes_then_refusing(write))
        files.put([{"n": 2, "pad": "x" * 50}])
        await until(lambda: files.dropped == 1)
        monkeypatch.setattr(os, "write", write)
        files.put([{"n": 3}])
        assert files.stop(10)

    assert [line["n"] for line in lines(tmp_path)] == [1, 3]
    assert [line["event"] for line in logs] == ["decision_log_failed"]
    assert logs[0]["error"] == "No space left on device"


def _taking_five_bytes_then_refusing(write):
    has_taken = threading.Event()

    def filling(descriptor, data):
        if has_taken.is_set():
            raise OSError(errno.ENOSPC, "No space left on device")
        has_taken.set()
        return write(descriptor, data[:5])

    return filling


async def test_a_line_that_cannot_be_encoded_is_dropped_and_the_next_one_written(tmp_path):
    files = files_in(tmp_path)
    files.start()
    files.put([{"n": object()}, {"n": 2}])
    assert files.stop(10)

    assert lines(tmp_path) == [{"n": 2}]
    assert files.dropped == 1

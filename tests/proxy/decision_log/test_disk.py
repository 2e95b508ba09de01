"""Real disks that are full, real limits on files, a real SIGKILL: whole lines, and none lost in silence."""

import asyncio
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest
import structlog

from tests.kit.clocks import HandClock
from tests.proxy.decision_log.conftest import ROOM_BYTES, fill
from tests.proxy.decision_log.logs import HOUR_MS, begin, files_in, lines, names
from tests.proxy.world import until
from tsproxy.config.settings import Retention
from tsproxy.proxy.decision_log import files as files_room

ROOT = Path(__file__).parents[3]


async def script(text, folder):
    """A process of its own that runs `text` from the root of the repository."""
    return await asyncio.create_subprocess_exec(
        sys.executable, "-c", text, str(folder), cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )


async def test_a_full_disk_is_told_of_before_a_line_needs_it(small_disk, monkeypatch):
    """Lines may be a minute apart. A line that still fits does not end the warning."""
    monkeypatch.setattr(files_room, "POLL_INTERVAL_S", 0.01)
    monkeypatch.setattr(files_room, "RETRY_DELAY_S", 0.01)
    ballast = small_disk / "ballast"
    files = files_in(small_disk / "log")
    await begin(files)
    assert files.problem() is None
    fill(ballast)
    await until(files.problem)
    files.put([{"n": 1}])
    await until(lambda: files.written == 2)
    assert "No space left on device" in files.problem()
    ballast.unlink()
    await until(lambda: files.problem() is None)
    assert files.stop(10)
    assert files.dropped == 0


async def test_on_a_full_disk_the_files_that_are_too_old_are_the_room(small_disk, monkeypatch):
    """A line that waits for room would otherwise keep the thread from making it."""
    monkeypatch.setattr(files_room, "RETRY_DELAY_S", 0.01)
    clock = HandClock()
    old = small_disk / "decisions-20260101T000000Z-proxy_1-before-0001.jsonl"
    old.write_bytes(b"x" * (ROOM_BYTES // 2))
    os.utime(old, (clock.ms / 1000, clock.ms / 1000))
    files = files_in(small_disk, clock=clock, retention=Retention(HOUR_MS, None))
    files.start()
    files.put([{"n": n, "pad": "x" * 500} for n in range(80)])
    await until(files.problem)
    assert old.exists()
    clock.ms += HOUR_MS + 1
    await until(lambda: files.written == 80)
    assert not old.exists()
    assert files.stop(10)
    assert files.dropped == 0


async def test_a_disk_that_vanishes_and_comes_back_costs_no_line(small_disk, tmp_path):
    """Meanwhile the lines are in the folder below it."""
    disk, folder = small_disk, tmp_path / "decisions"
    folder.mkdir()
    files = files_in(folder)
    with structlog.testing.capture_logs() as told:
        with mounted("--bind", disk, folder):
            await begin(files)
        files.put([{"n": 2}])
        await until(lambda: files.written == 2)
        with mounted("--bind", disk, folder):
            files.put([{"n": 3}])
            await until(lambda: files.written == 3)
            assert files.stop(10)

    assert [line["event"] for line in told] == ["decision_file_removed"] * 2
    assert [line["bytes_lost"] for line in told] == [0, 0]
    assert sorted(line["n"] for line in lines(disk, "*.jsonl*")) == [1, 3]
    assert [line["n"] for line in lines(folder, "*.open")] == [2]


@contextmanager
def mounted(*arguments):
    subprocess.run(["mount", *map(str, arguments)], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(arguments[-1])], check=True)


LIMITED = """
import resource, sys
from pathlib import Path
from tests.proxy.decision_log.logs import written

resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
files = written(Path(sys.argv[1]), [{"n": n, "pad": "x" * 500} for n in range(60)])
print(files.written, files.dropped)
"""


async def test_a_limit_on_the_size_of_a_file_is_met_by_a_new_file(tmp_path):
    """`ulimit -f`, or a file system that knows no larger ones."""
    process = await script(LIMITED, tmp_path)
    said, _ = await process.communicate()

    assert said.split()[-2:] == [b"60", b"0"]
    assert [line["n"] for line in lines(tmp_path)] == list(range(60))
    assert len(names(tmp_path)) == 4


@pytest.mark.parametrize("is_replacement", [False, True])
async def test_a_folder_that_cannot_be_made_again_is_waited_for(tmp_path, monkeypatch, is_replacement):
    """Also by a process that replaces another one, and finds it like this."""
    monkeypatch.setattr(files_room, "RETRY_DELAY_S", 0.01)
    folder = tmp_path / "decisions"
    files = files_in(folder)
    if not is_replacement:
        files.start()
        shutil.rmtree(folder)
    folder.write_text("in the way")
    if is_replacement:
        files.start(is_replacement=True)
    files.put([{"n": 1}])
    await until(files.problem)
    assert any(why in files.problem() for why in ("File exists", "Not a directory"))
    folder.unlink()
    await until(lambda: files.written == 1)
    await until(lambda: files.problem() is None)  # the thread says so after it has written
    assert files.stop(10)

    assert lines(folder) == [{"n": 1}]

"""The demo as a user starts it, with a twentieth of its events, and every way in which it can end."""

import asyncio
import json
import os
import re
import signal
import sys
import uuid
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MARK = "TSPROXY_DEMO_TEST"
PATIENCE_S = 60

pytestmark = pytest.mark.broker

needs_proc = pytest.mark.skipif(
    not Path("/proc/self/environ").exists(), reason="looks for processes in Linux's /proc"
)


@pytest.fixture
def mark() -> str:
    """Stands in the environment of everything that the demo starts."""
    return uuid.uuid4().hex


@asynccontextmanager
async def demo(mark: str, output: Path, every: int) -> AsyncIterator[Process]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "deploy.demo", "--every", str(every), "--output", str(output)),
        cwd=ROOT,
        env=os.environ | {MARK: mark},
        stdout=PIPE,
        stderr=PIPE,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def until_it_says(process: Process, text: str) -> str:
    """Its progress up to the line that holds the text."""
    said = ""
    async with asyncio.timeout(PATIENCE_S):
        while line := (await process.stderr.readline()).decode():
            said += line
            if text in line:
                return said
    raise AssertionError(f"the demo ended before it said {text!r}:\n{said}")


def alive(mark: str) -> dict[int, str]:
    """Command lines, by process id, of what runs with the mark in its environment."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"{MARK}={mark}".encode() in (folder / "environ").read_bytes():
                words = (folder / "cmdline").read_bytes().replace(b"\0", b" ")
                found[int(folder.name)] = words.decode(errors="replace")
        except OSError:  # it ended while we looked
            continue
    return found


async def until_nothing_is_alive(mark: str) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while alive(mark):  # noqa: ASYNC110 - nothing tells of the end of a process that is not ours
            await asyncio.sleep(0.05)


@pytest.mark.spark
async def test_the_demo_ends_with_all_counts_equal_and_a_report(mark: str, tmp_path: Path):
    async with demo(mark, tmp_path, every=20) as process:
        stdout, stderr = await process.communicate()
    assert process.returncode == 0, stderr.decode()
    own = re.compile(r"\[ *[\d.]+ s\] |fetching the jars of ")
    foreign = [line for line in stderr.decode().splitlines() if not own.match(line)]
    assert not foreign, "its commands print their answers and nothing else"
    said = stdout.decode()
    sent = 103_140 // 20 + 5 * 300
    assert f"All counts agree: {sent:,} records sent" in said
    assert judged_in_reports(said) == sent


def judged_in_reports(said: str) -> int:
    """Records judged, by the reports that the demo names, each of which can be opened."""
    pages = [Path(path) for path in re.findall(r"^The report: (.*/report\.html)$", said, re.MULTILINE)]
    assert all(page.read_text().startswith("<!doctype html>") for page in pages)
    reports = [json.loads(page.with_name("report.json").read_text()) for page in pages]
    return sum(report["totals"]["records_judged"] for report in reports)


@needs_proc
@pytest.mark.full_only("another demo; the first one above ends in order")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=lambda number: number.name)
async def test_a_demo_that_is_interrupted_leaves_nothing_running(
    mark: str, tmp_path: Path, number: signal.Signals
):
    async with demo(mark, tmp_path, every=1) as process:
        await until_it_says(process, "handed over")
        assert len(alive(mark)) > 3
        process.send_signal(number)
        _, stderr = await process.communicate()
        assert alive(mark) == {}
    assert process.returncode == 130
    assert stderr.decode().splitlines()[-1] == "interrupted; everything that was started has been stopped"


@needs_proc
@pytest.mark.full_only("another demo; the first one above ends in order")
async def test_a_demo_that_is_killed_leaves_nothing_running(mark: str, tmp_path: Path):
    async with demo(mark, tmp_path, every=1) as process:
        await until_it_says(process, "handed over")
        process.kill()
        await process.wait()
        await until_nothing_is_alive(mark)


@needs_proc
@pytest.mark.full_only("a second demo; the first one above ends in order")
async def test_a_demo_whose_proxy_dies_says_so_at_once_and_fails(mark: str, tmp_path: Path):
    async with demo(mark, tmp_path, every=1) as process:
        await until_it_says(process, "handed over")
        (proxy,) = (pid for pid, command in alive(mark).items() if "tsproxy run" in command)
        os.kill(proxy, signal.SIGKILL)
        stdout, stderr = await process.communicate()
        assert alive(mark) == {}
    assert process.returncode == 1
    assert "All counts agree" not in stdout.decode()
    assert "the demo failed: CommandError: tsproxy run ended by itself, with -9" in stderr.decode()

"""A forked proxy behaves as one that Python starts anew."""

import json
import os
import signal
import sys
from pathlib import Path

import pytest

from tests import forked_proxies
from tests.full_only import variations
from tsproxy.testing import proxy

RUN = (
    "run",
    "--upstream",
    "127.0.0.1:9",
    "--listen",
    "127.0.0.1:0",
    "--admin",
    "off",
    "--log-format",
    "json",
)


@pytest.fixture(
    params=variations("starts Python, which forked proxies are compared with", ["forked", "anew"], ["forked"])
)
def start(request):
    """How `RunningProxy` starts a program, in both ways."""
    if request.param == "anew":
        yield forked_proxies.started_anew
        return
    with forked_proxies.instead_of_starts():
        yield proxy.start_program


async def started(start, *words, **environment):
    return await start([sys.executable, "-m", "tsproxy", *map(str, words)], {**os.environ, **environment})


async def until_event(process, event):
    """Reads the log up to this event."""
    while json.loads(await process.stderr.readline())["event"] != event:
        pass


def until_collected(pid):
    """Waits until the process that forks has taken the exit status."""
    while Path("/proc", str(pid)).exists():
        os.sched_yield()


async def test_it_reads_its_own_arguments_folder_and_environment(start, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tmp_path.joinpath("here.yaml").write_text(
        "upstream: {bootstrap_servers: ['${HOST_OF_THIS_TEST}:1']}\nlisteners: [{bind: '127.0.0.1:9192'}]\n"
    )
    process = await started(start, "check", "here.yaml", HOST_OF_THIS_TEST="127.0.0.1")
    assert await process.wait() == 0

    process = await started(start, "check", "here.yaml")
    assert await process.wait() == 2
    assert "HOST_OF_THIS_TEST is not set" in (await process.stderr.read()).decode()


async def test_a_signal_ends_it_as_it_ends_a_program(start, tmp_path):
    process = await started(start, *RUN, "--decisions", tmp_path)
    await until_event(process, "upstream_unreachable")
    assert os.getpgid(process.pid) == os.getpgid(0)
    process.send_signal(signal.SIGTERM)
    assert await process.wait() == 0

    process = await started(start, *RUN, "--decisions", tmp_path)
    await until_event(process, "upstream_unreachable")
    process.kill()
    assert await process.wait() == process.returncode == -signal.SIGKILL


async def test_a_signal_to_one_whose_end_is_not_heard_yet_is_no_error(tmp_path):
    with forked_proxies.instead_of_starts():
        process = await started(proxy.start_program, "check", tmp_path / "missing.yaml")
        await process.stderr.read()
        until_collected(process.pid)  # the loop hears nothing meanwhile
        process.kill()
        assert await process.wait() == 2


async def test_a_variable_that_python_reads_when_it_starts_is_heeded(start, tmp_path):
    process = await started(start, "check", tmp_path / "missing.yaml", PYTHONVERBOSE="1")
    assert b"import 'tsproxy.cli'" in await process.stderr.read()
    assert await process.wait() == 2


async def test_it_inherits_nothing_that_is_open(start, tmp_path):
    process = await started(start, *RUN, "--decisions", tmp_path)
    await until_event(process, "upstream_unreachable")
    open_files = {os.readlink(f"/proc/{process.pid}/fd/{number}") for number in (0, 1)}
    process.kill()
    await process.wait()

    assert open_files == {os.devnull}

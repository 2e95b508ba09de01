"""The three lines that a person sees who starts the proxy on a terminal."""

import asyncio
import os
import pty
import signal
import sys

import pytest

from tests.config.files import SMALLEST, config_of
from tsproxy.proxy.logging import LogFormat
from tsproxy.proxy.summary import lines, show

FACTS = {
    "listeners": {"default": "127.0.0.1:9192"},
    "brokers": {"default": {"1": 9194, "2": 9195}},
    "admin": "127.0.0.1:9464",
    "decisions": "/var/lib/tsproxy",
}
LIMITS = "message.timestamp.before.max.ms: 7d, message.timestamp.after.max.ms: 1h"


def test_the_first_and_the_last_line_name_the_real_addresses_and_the_folder():
    first, *_, last = lines(config_of(SMALLEST), FACTS)

    assert first == (
        "Clients connect to 127.0.0.1:9192, brokers at ports 9194, 9195; live page and metrics at "
        "http://127.0.0.1:9464/"
    )
    assert last == (
        "Decisions go to /var/lib/tsproxy; for a report: spark_reports daily --input /var/lib/tsproxy "
        "--output report"
    )


@pytest.mark.parametrize(
    ("policy", "enforced"),
    [
        ("{}", "the limits of each topic"),
        ("{ mode: audit }", "nothing"),
        ("{ mode: off }", "nothing"),
        (
            f"{{ limits_from: config, defaults: {{ {LIMITS} }} }}",
            "the limits of policy.defaults (before 7d, after 1h)",
        ),
        (
            f"{{ limits_from: stricter, defaults: {{ {LIMITS} }} }}",
            "the limits of each topic, or those of policy.defaults (before 7d, after 1h) where they are "
            "stricter",
        ),
        (
            "{ mode: audit, rules: [ { name: pay, match: { topics: [pay] }, mode: enforce }, "
            "{ name: old, match: { topics: [old] } } ] }",
            "rules: pay",
        ),
    ],
)
def test_what_is_enforced_follows_from_the_modes(policy, enforced):
    _, second, _ = lines(config_of(f"{SMALLEST}policy: {policy}\n"), FACTS)

    assert second == f"Enforced: {enforced}"


class Gone:
    """A terminal that somebody has closed."""

    writes = 0

    def isatty(self):
        return True

    def write(self, _):
        self.writes += 1
        raise OSError("Input/output error")


@pytest.mark.parametrize(("log_format", "writes"), [(LogFormat.AUTO, 1), (LogFormat.JSON, 0)])
def test_a_terminal_that_is_gone_ends_no_start_and_a_log_as_json_has_nothing_else(
    monkeypatch, log_format, writes
):
    terminal = Gone()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setattr("sys.stdout", terminal)

    show(config_of(SMALLEST), log_format, FACTS)
    assert terminal.writes == writes


async def seen_on_a_terminal(kafka, folder, *arguments):
    """All that `tsproxy run` shows on a terminal. It is stopped when it has started."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "tsproxy", "run", "--upstream", kafka.bootstrap_servers]
    command += ["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--decisions", str(folder), *arguments]
    process = await asyncio.create_subprocess_exec(*command, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = b""
    with await asyncio.to_thread(os.fdopen, ours, "rb") as terminal:
        while b"proxy_started" not in shown or b"Decisions" not in shown:
            shown += await asyncio.to_thread(terminal.readline)
        process.send_signal(signal.SIGTERM)
        while b"proxy_stopped" not in shown:
            shown += await asyncio.to_thread(terminal.readline)
    assert await process.wait() == 0
    return shown.decode().replace("\r\n", "\n").splitlines()


@pytest.mark.parametrize("workers", ["1", "2"])
async def test_a_person_on_a_terminal_sees_three_lines(kafka_440, tmp_path, workers):
    shown = await seen_on_a_terminal(kafka_440, tmp_path, *(["--workers", "2"] if workers == "2" else []))

    begins = ["Clients connect to 127.0.0.1:", "Enforced: ", "Decisions go to "]
    at = next(index for index, line in enumerate(shown) if line.startswith(begins[0]))
    assert [line.startswith(text) for line, text in zip(shown[at:], begins, strict=False)] == [True] * 3
    assert shown[at + 2].startswith(f"Decisions go to {tmp_path};")

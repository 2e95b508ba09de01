"""Operators' lines: few for each client, one a line, and never what a client sent."""

import asyncio
import io
import json
import logging
import os
import sys
import threading
import time
from unittest.mock import Mock

import pytest
import structlog

from tests.kit.clocks import HandClock
from tests.proxy.world import Logged
from tsproxy.log_events.catalogue import CLIENT_REJECTED
from tsproxy.proxy.logging import LogFormat, configure_logging
from tsproxy.proxy.notes import PER_ADDRESS, Complaints, Notes, complaints_logged, frames_of


def test_a_client_in_a_loop_gets_few_lines_and_the_rest_is_counted():
    told, clock = Logged(), HandClock()
    notes = Notes(told, clock)
    for _ in range(PER_ADDRESS.burst + 500):
        notes.write("192.0.2.1", CLIENT_REJECTED, {"client_port": 1})
    assert len(told.lines) == PER_ADDRESS.burst
    clock.ms += PER_ADDRESS.refill_ms
    notes.write("192.0.2.1", CLIENT_REJECTED, {"client_port": 2})

    assert told.lines[-1] == {"event": "client_rejected", "client_port": 2, "suppressed": 500}
    assert "suppressed" not in told.lines[0]


@pytest.mark.parametrize(
    ("addresses", "other"),
    [
        (["192.0.2.1"] * 500, "192.0.2.2"),
        ([f"2001:db8::{n:x}" for n in range(500)], "2001:db8:0:1::1"),
    ],
    ids=["IPv4", "all addresses of an IPv6 host"],
)
def test_one_client_does_not_use_up_anothers_lines(addresses, other):
    told = Logged()
    notes = Notes(told, HandClock())
    for address in addresses:
        notes.write(address, CLIENT_REJECTED, {})
    notes.write(other, CLIENT_REJECTED, {"client": "other"})

    assert told.lines[-1] == {"event": "client_rejected", "client": "other"}
    assert len(told.lines) == PER_ADDRESS.burst + 1


@pytest.mark.parametrize("text", ["c" * 32767, "\x1b[31m" * 8000, "\udcff" * 32767, "a\r\nb\u2028"])
def test_a_text_of_a_clients_own_is_short_and_printable(text):
    told = Logged()
    Notes(told, HandClock()).write("192.0.2.1", CLIENT_REJECTED, {"detail": text, "client_port": 7})

    [line] = told.lines
    assert line["client_port"] == 7
    assert line["detail"].isprintable()
    assert len(line["detail"]) < 1_100


def test_frames_say_where_and_not_what():
    def fail(secret):
        raise ValueError(secret)

    with pytest.raises(ValueError, match="hunter2") as caught:
        fail("hunter2")

    frames = frames_of(caught.value)
    assert frames[-1].endswith(" fail")
    assert "hunter2" not in str(frames)


@pytest.fixture
def configured():
    """`configure_logging`, undone at the end."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    yield configure_logging
    structlog.reset_defaults()
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture
def logged(configured, capsys):
    """A function that logs in JSON by another function, and returns the text on standard error."""

    def text(log, log_format=LogFormat.JSON):
        writer = configured(log_format)
        log()
        writer.finish()
        return capsys.readouterr().err

    return text


def warn(**facts):
    structlog.get_logger().warning("client_rejected", **facts)


def test_a_json_line_is_one_object_with_time_level_and_event_first(logged):
    [line] = logged(lambda: warn(client="192.0.2.1", detail="a\nb")).splitlines()
    assert list(json.loads(line)) == ["timestamp", "level", "event", "client", "detail"]


def test_text_that_is_no_unicode_is_logged_all_the_same(logged):
    assert json.loads(logged(lambda: warn(client_id="\ud800")))["client_id"] == "\ud800"


def test_a_line_break_in_a_text_makes_no_line_of_its_own_on_a_terminal(logged):
    assert len(logged(lambda: warn(detail="first\nsecond"), LogFormat.CONSOLE).splitlines()) == 1


def test_a_log_that_is_gone_harms_nobody(configured, monkeypatch):
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stderr", closed)
    writer = configured(LogFormat.JSON)

    warn()
    writer.finish()


def test_nobody_waits_for_a_log_that_nobody_reads_and_lost_lines_are_counted(configured, monkeypatch):
    read, write = os.pipe()
    with open(read) as reader, open(write, "w", buffering=1) as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        writer = configured(LogFormat.JSON)
        for n in range(3_000):
            warn(n=n, detail="x" * 1_000)
        found = []
        for line in map(json.loads, reader):
            found.append(line)
            if line["event"] == "log_lines_lost":
                break
        threading.Thread(target=reader.read).start()
        writer.finish()
    *before, lost = found
    assert [line["n"] for line in before] == list(range(len(before)))
    assert 0 < lost["lines"] < 3_000


def test_a_slow_reader_is_waited_for_once_a_second(configured, monkeypatch):
    written = []

    class Slow(io.StringIO):
        def write(self, line):
            time.sleep(0.02)
            written.append(line)

    monkeypatch.setattr(sys, "stderr", Slow())
    writer = configured(LogFormat.JSON)
    for _ in range(50):
        warn()
    assert len(written) < 50
    writer.finish()
    assert len(written) == 50


def test_what_libraries_log_becomes_events_without_values(logged):
    def fail():
        try:
            raise ValueError("hunter2")
        except ValueError:
            logging.getLogger("some.library").exception("it failed")

    text = logged(fail)
    line = json.loads(text)
    assert line["event"] == "library_complained"
    assert (line["library"], line["error"]) == ("some.library", "ValueError")
    assert "hunter2" not in text


def test_the_kafka_client_stays_silent_since_it_prints_tokens_when_it_debugs(logged):
    def log():
        logging.getLogger("aiokafka.conn").debug("token")
        logging.getLogger("aiokafka.conn").error("failed")

    assert logged(log) == ""


def test_errors_of_the_loop_have_a_line_a_second_and_the_others_are_counted(monkeypatch):
    class Loop:
        now_s = 100.0

        def time(self):
            return self.now_s

    loop, complaints = Loop(), Complaints()
    with structlog.testing.capture_logs() as lines:
        for _ in range(50):
            complaints(loop, {"message": "a task failed", "exception": ValueError("secret")})
        loop.now_s += 1.0
        complaints(loop, {"message": "a task failed"})
    assert [(line["event"], line.get("not_logged")) for line in lines] == [
        ("loop_complained", None),
        ("loop_complained", 49),
    ]
    assert "secret" not in str(lines)


async def test_an_error_that_cannot_be_raised_is_a_line_without_its_text():
    """Python tells one of a host name in a ClientHello that is no ASCII. It is a stranger's, and took the
    line of this second from an error of our own code."""
    hook, loop = sys.unraisablehook, asyncio.get_running_loop()
    with complaints_logged(loop), structlog.testing.capture_logs() as lines:
        for _ in range(50):
            sys.unraisablehook(Mock(exc_value=ValueError("secret")))
        loop.call_exception_handler({"message": "a task failed", "exception": KeyError("secret")})
    assert [(line["event"], line["error"]) for line in lines] == [
        ("loop_complained", "ValueError"),
        ("loop_complained", "KeyError"),
    ]
    assert "secret" not in str(lines)
    assert sys.unraisablehook is hook


async def test_a_look_up_that_nobody_waits_for_any_more_is_no_error_of_the_loop():
    """The attempt that began it has logged its end. A task is our own code, so its error is logged."""
    loop, complaints = asyncio.get_running_loop(), Complaints()
    looked_up = loop.create_future()
    looked_up.cancel()
    task = loop.create_task(asyncio.sleep(0))
    with structlog.testing.capture_logs() as lines:
        for future in (looked_up, task):
            complaints(
                loop, {"message": "never retrieved", "exception": OSError("no name"), "future": future}
            )
    await task
    assert [line["error"] for line in lines] == ["OSError"]

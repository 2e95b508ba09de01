"""A real proxy tells the service manager about its life."""

import os
import signal
import socket
import time

import pytest

from tests.proxy.world import until
from tsproxy.clock import Clock
from tsproxy.proxy.service_manager import ServiceManager
from tsproxy.testing.proxy import RunningProxy


class Heard:
    """A notification socket, and all that was told to it so far."""

    def __init__(self, address):
        self.environment = {"NOTIFY_SOCKET": address.replace("\0", "@")}
        self.lines = []
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._socket.bind(address)
        self._socket.setblocking(False)

    def listen(self):
        try:
            while True:
                self.lines += self._socket.recv(4096).decode().splitlines()
        except BlockingIOError:
            return self.lines

    def count(self, line):
        return self.listen().count(line)

    def value(self, name):
        return next(int(line.partition("=")[2]) for line in self.listen() if line.startswith(f"{name}="))


@pytest.fixture
def heard(tmp_path):
    return Heard(str(tmp_path / "notify"))


@pytest.mark.parametrize("workers", ["1", "2"])
async def test_ready_reloading_and_stopping_are_told_in_their_turn(kafka_440, heard, workers):
    settings = {"limits.drain_timeout": "7s"}
    async with RunningProxy(
        kafka_440.bootstrap_servers,
        environment=heard.environment,
        settings=settings,
        arguments=["--workers", workers],
    ) as proxy:
        await until(lambda: heard.count("READY=1") == 1)
        assert heard.listen()[0] == "STATUS=waits for the cluster to answer"

        before_us = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        os.kill(proxy.pid, signal.SIGHUP)
        await until(lambda: heard.count("READY=1") == 2)
        assert heard.lines.index("RELOADING=1") < len(heard.lines) - heard.lines[::-1].index("READY=1")
        assert before_us < heard.value("MONOTONIC_USEC") < before_us + 60_000_000
        assert heard.lines[-1] == "STATUS=the last reload was taken"

    assert heard.count("STOPPING=1") == 1
    assert heard.value("EXTEND_TIMEOUT_USEC") == (7 + 15) * 1_000_000
    assert heard.count("READY=1") == 2
    assert heard.count("WATCHDOG=1") == 0


async def test_a_watchdog_hears_the_loop_turn(kafka_440, heard):
    environment = {**heard.environment, "WATCHDOG_USEC": "300000"}
    async with RunningProxy(kafka_440.bootstrap_servers, environment=environment):
        await until(lambda: heard.count("WATCHDOG=1") >= 3)


async def test_a_watchdog_of_another_process_is_not_ours(heard):
    manager = ServiceManager.of({**heard.environment, "WATCHDOG_USEC": "300000", "WATCHDOG_PID": "1"})
    await manager.beat()

    assert heard.listen() == []


async def test_a_socket_without_a_name_in_the_file_system_is_reached():
    heard = Heard(f"\0tsproxy-test-{os.getpid()}")
    environ = dict(heard.environment)
    ServiceManager.of(environ).ready()

    assert heard.count("READY=1") == 1
    assert environ == {}


def test_a_manager_that_is_gone_is_no_harm(tmp_path):
    ServiceManager(str(tmp_path / "nobody"), None, Clock()).ready()
    ServiceManager("", None, Clock()).ready()


def test_a_reload_during_the_start_does_not_make_it_look_ready(heard):
    manager = ServiceManager.of(heard.environment)
    manager.reloading()
    manager.reloaded("the last reload was taken")

    assert heard.listen() == []

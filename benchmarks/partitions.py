"""A cluster with very many topics and partitions: start, memory, the refresh of limits, and large answers."""

import re
import socket
import time
import urllib.request
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from benchmarks.bench import Bench
from benchmarks.frames import Shape, build_batch, metadata_of_all, opening_of, produce_frame
from benchmarks.processes import Program, open_files
from benchmarks.proxies import Proxy, tsproxy
from benchmarks.sections import Section

_CLUSTERS: Final = ((1, 1), (10_000, 10))
_REFRESH_S: Final = 5
"""Topics that nobody has used by then are forgotten, and not read again."""
_REFRESHES: Final = 2
_ANSWERS: Final = 10
_SLOW: Final = 20
_SLOW_ANSWERS: Final = 20
_SLOW_S: Final = 8.0
_PATIENCE_S: Final = 60.0
_MIB: Final = 1024 * 1024
_FORGET_PEAK: Final = "5"  # proc(5): the peak of resident memory begins again
_ADMIN: Final = re.compile(r'"admin":"([^"]+)"')
_SMALL: Final = Shape(200)
_PROXY: Final = Proxy(
    "tsproxy, partitions", tsproxy("--loop", "uvloop", "--set", f"upstream.admin.refresh={_REFRESH_S}s")
)


def partitions(bench: Bench) -> Section:
    """A cluster of one topic, then larger ones."""
    rows = [(f"{topics:,} × {each}", *_measured(bench, topics, each)) for topics, each in _CLUSTERS]
    return Section(
        text="Topics × partitions of a sink that knows so many: a real node has a file open for each "
        f"partition, and a process of this machine may open {open_files():,}. `start` is the time from the "
        "command until the first client is served: the proxy has read the limits of topics by then, or of as "
        "many as it could in 2 s. Then a client "
        "writes to all topics, and memory is that of the process. `refresh` is the CPU for reading brokers "
        f"and limits again, every {_REFRESH_S} s here and every 30 s by default, if all topics are in use. "
        "A scrape is the size of `/metrics`. The answer is that to a client's Metadata request for all "
        "topics, in which the proxy replaces the brokers' addresses. At last "
        f"{_SLOW} clients ask for {_SLOW_ANSWERS} such answers each and read nothing: the growth is the most "
        "that they cost.",
        head=(
            "topics × partitions",
            "start",
            "memory",
            "refresh, CPU",
            "scrape",
            "answer",
            "CPU an answer",
            "ms an answer",
            f"growth by {_SLOW} slow clients",
        ),
        rows=rows,
    )


def _measured(bench: Bench, topics: int, each: int) -> tuple[str, ...]:
    """The cells of a row."""
    names = tuple(f"topic-{number:06d}" for number in range(topics))
    batch = build_batch(_SMALL, time.time_ns() // 1_000_000)
    with ExitStack() as stack:
        sink = stack.enter_context(bench.sink("--topics", str(topics), "--partitions", str(each)))
        begun_s = time.monotonic()
        running = stack.enter_context(bench.proxy(_PROXY, sink))
        client = stack.enter_context(_client(running.port))
        _ask(client, opening_of(names[:1])[0])
        start_s = time.monotonic() - begun_s
        program = running.program
        assert program is not None
        _ask(client, produce_frame(names, (batch,)))
        refresh_s = _cpu_of(program, lambda: time.sleep(_REFRESHES * _REFRESH_S)) / _REFRESHES
        memory_mib = program.rss_bytes() / _MIB
        scrape_bytes = _scraped(program)
        asked = metadata_of_all()
        sizes: list[int] = []
        begun_s = time.monotonic()
        cpu_s = _cpu_of(program, lambda: sizes.extend(_ask(client, asked) for _ in range(_ANSWERS)))
        answer_s = (time.monotonic() - begun_s) / _ANSWERS
        slow = [stack.enter_context(_client(running.port)) for _ in range(_SLOW)]

        def ask_and_read_nothing() -> None:
            for one in slow:
                one.sendall(asked * _SLOW_ANSWERS)

        slow_mib = _grown_mib(program, ask_and_read_nothing)
    return (
        f"{start_s:.2f} s",
        f"{memory_mib:.0f} MiB",
        f"{1_000 * refresh_s:.0f} ms",
        f"{scrape_bytes / 1024:.0f} KiB",
        f"{sizes[0] / _MIB:.2f} MiB",
        f"{1_000 * cpu_s / _ANSWERS:.1f} ms",
        f"{1_000 * answer_s:.1f}",
        f"{slow_mib:.0f} MiB",
    )


def _client(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=_PATIENCE_S)


def _ask(client: socket.socket, request: bytes) -> int:
    """Sends a request and reads its whole answer; returns the size of that."""
    client.sendall(request)
    with client.makefile("rb") as file:
        return len(file.read(int.from_bytes(file.read(4), "big")))


def _scraped(program: Program) -> int:
    """The bytes of the proxy's page of metrics."""
    [address] = set(_ADMIN.findall(program.log.read_text()))
    with urllib.request.urlopen(f"http://{address}/metrics") as page:
        return len(page.read())


def _cpu_of(program: Program, run: Callable[[], object]) -> float:
    """The seconds of CPU that the program uses while `run` runs."""
    before_s = program.settled_cpu_s()
    run()
    return program.settled_cpu_s() - before_s


def _grown_mib(program: Program, run: Callable[[], object]) -> float:
    """The most by which resident memory grows in the seconds from `run` on."""
    before = program.rss_bytes()
    for pid in program.pids():
        Path(f"/proc/{pid}/clear_refs").write_text(_FORGET_PEAK)
    run()
    time.sleep(_SLOW_S)
    return (program.peak_rss_bytes() - before) / _MIB

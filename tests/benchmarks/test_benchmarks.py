"""The benchmarks work end to end: a few hundred requests, no figures.

The figures rest on the generator's checks of answers alone, so its checks are tested against answers that are
wrong.
"""

import json
import socket
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.bench import QUICK, Bench, direct
from benchmarks.end_to_end import Sent, read_performance
from benchmarks.frames import TWO_HOURS_MS, Shape, build_batch, metadata_of_all
from benchmarks.loads import B200, Load
from benchmarks.measurements import MEASUREMENTS
from benchmarks.processes import ProgramError, Workshop, workshop
from benchmarks.proxies import TSPROXY, TSPROXY_ASYNCIO, nginx_stream_module
from benchmarks.records import NOW_MS, OnFastPath
from benchmarks.relay import settle
from benchmarks.report import Circumstances, write
from benchmarks.tools import MissingError, load_programs
from tests.full_only import variations
from tsproxy.model.kafka import Codec, ErrorCode

pytestmark = pytest.mark.slow  # each test starts proxies and loads

FEW = replace(QUICK, requests=20, seconds=10.0)
"""A load ends after its requests, on a busy machine, too."""


@pytest.fixture(scope="module")
def place() -> Iterator[Workshop]:
    try:
        load_programs()
    except MissingError as error:
        pytest.skip(f"no load can be made: {error}")
    with workshop() as place:
        yield place


@pytest.fixture
def bench(place: Workshop) -> Bench:
    return Bench(place, FEW, proxies=(TSPROXY, TSPROXY_ASYNCIO), loads_named="200 B, 8×5")


def test_a_measurement_runs_and_its_report_is_written(bench: Bench, tmp_path: Path) -> None:
    """One load through two proxies, every answer checked."""
    bench.loads_named = "100 KB, 8×5"
    relay = next(each for each in MEASUREMENTS if each.name == "relay")
    results = tmp_path / "results.md"
    write(results, tmp_path / "answers.md", bench, Circumstances.now(), {relay: relay.measure(bench)})
    report = results.read_text()
    assert "| load | tsproxy, asyncio | tsproxy busy |" in report
    assert "| 100 KB, 8×5 | " in report
    assert str(bench.workshop.folder) not in report


def test_what_a_request_and_a_mb_cost_is_measured(bench: Bench) -> None:
    """A request has one record here, so both cost the same."""
    section = next(each for each in MEASUREMENTS if each.name == "capacity").measure(bench)
    names = ["200 B, 8×5"] + ["200 B, 8×5, TLS"] * load_programs().knows_tls
    assert not bench.failed
    assert [row[0] for row in section.rows] == names
    for row in section.rows:
        size, records = int(row[1]), int(row[2])
        us, ns, ms = (float(cell.split()[0]) for cell in row[3:6])
        assert 150 < size <= 200
        assert records == 1
        assert us > 0
        assert ns / 1_000 == pytest.approx(us, rel=0.01)
        assert ms == pytest.approx(us / 1_000 * 1_000_000 / size, rel=0.01)


@pytest.mark.full_only("starts six proxies; a measurement with two runs above")
def test_what_a_policy_costs_is_measured(bench: Bench) -> None:
    policy = next(each for each in MEASUREMENTS if each.name == "policy")
    assert [row[0] for row in policy.measure(bench).rows] == [
        "a candidate that all lies within",
        "1,000 rules against 10",
    ]


@pytest.mark.full_only("starts many proxies; a measurement runs above, and their loads below")
@pytest.mark.parametrize("name", ["partitions", "start", "workers"])
def test_what_a_start_more_topics_and_more_workers_cost_is_measured(place: Workshop, name: str) -> None:
    bench = Bench(place, QUICK)
    section = next(each for each in MEASUREMENTS if each.name == name).measure(bench)
    assert len(section.rows) >= 2
    assert all(len(row) == len(section.head) for row in section.rows)


@pytest.mark.broker
@pytest.mark.full_only("four brokers for three minutes; a measurement without a broker runs above")
@pytest.mark.parametrize("name", ["clients", "connections", "consume", "end-to-end"])
def test_what_needs_a_real_broker_is_measured_with_one(place: Workshop, name: str) -> None:
    """haproxy is measured, too, where it is installed: the broker advertises its port."""
    bench = Bench(place, FEW)
    bench.start_all()
    measurement = next(each for each in MEASUREMENTS if each.name == name)
    section = measurement.measure(bench)
    assert not bench.failed
    assert all(len(row) == len(section.head) for row in section.rows)
    assert len(section.rows) >= 3


def test_the_producers_tool_is_read_without_its_warm_up() -> None:
    whole = (
        "3000 records sent, 1915.708812 records/sec (1.83 MB/sec), 116.72 ms avg latency, "
        "483.00 ms max latency, 51 ms 50th, 357 ms 95th, 373 ms 99th, 381 ms 99.9th."
    )
    steady = (
        "2500 steady state records sent, 1914.241960 records/sec (1.83 MB/sec), 76.55 ms avg latency, "
        "375.00 ms max latency, 15 ms 50th, 271 ms 95th, 373 ms 99th, 374 ms 99.9th."
    )
    assert read_performance(f"{whole}\n{steady}\n") == Sent(1914.24196, 15, 373, 374)


def test_what_is_measured_as_read_is_read() -> None:
    """Also when so many batches were in order that the default would leave the next one unread."""
    read = OnFastPath(build_batch(Shape(2_000, codec=Codec.LZ4), NOW_MS))
    for _ in range(300):
        read()
    assert read.unread() == 0


@pytest.mark.parametrize(
    "codec",
    variations("the load sends the bytes as they are", Codec, but=[Codec.ZSTD]),
)
def test_every_request_from_two_hours_ahead_is_rejected(bench: Bench, codec: Codec) -> None:
    """The load is judged: without this, the proxy's CPU would be that of a relay that looks at nothing."""
    load = Load(
        Shape(2_000, codec=codec, ahead_ms=TWO_HOURS_MS),
        connections=2,
        in_flight=3,
        expected_code=ErrorCode.INVALID_TIMESTAMP,
    )
    with bench.sink() as sink, bench.proxy(TSPROXY, sink) as proxy:
        settle(bench, load, proxy)
        assert bench.load(load, proxy).requests == load.connections * FEW.requests


def test_a_load_of_fetches_is_answered(bench: Bench) -> None:
    load = Load(Shape(100_000, is_fetch=True), connections=2, in_flight=1)
    with bench.sink() as sink, bench.proxy(TSPROXY, sink) as proxy:
        assert bench.load(load, proxy).requests == 2 * FEW.requests


def test_a_wrong_answer_to_a_fetch_ends_the_load(bench: Bench) -> None:
    load = Load(
        Shape(100, is_fetch=True), connections=1, in_flight=1, expected_code=ErrorCode.NOT_LEADER_OR_FOLLOWER
    )
    with bench.sink() as sink, pytest.raises(ProgramError, match="error code 0, not 6, and 100 bytes"):
        bench.load(load, direct(sink))


def test_an_answer_to_a_fetch_without_records_ends_the_load(bench: Bench) -> None:
    load = Load(Shape(0, is_fetch=True), connections=1, in_flight=1)
    with bench.sink() as sink, pytest.raises(ProgramError, match="and 0 bytes of records"):
        bench.load(load, direct(sink))


def test_an_open_loop_sends_all_that_was_due(bench: Bench) -> None:
    load = Load(B200, connections=3, in_flight=2)
    with bench.sink() as sink:
        assert bench.load(load, direct(sink), rate=2_000).requests == 3 * FEW.requests


def test_a_load_ends_at_a_word_and_all_that_was_due_is_answered(bench: Bench) -> None:
    load = Load(B200, connections=1, in_flight=2)
    bench.effort = replace(FEW, requests=None)
    with (
        bench.sink() as sink,
        bench.generator(load, direct(sink), rate=100, seconds=3_600.0) as generator,
    ):
        generator.say("go")
        generator.say("stop")
        ended = json.loads(generator.hear())
    assert ended["seconds"] < FEW.seconds
    assert ended["unanswered"] == 0


def test_a_herd_is_served_by_each_broker_and_comes_back(bench: Bench) -> None:
    """Through the proxy's ports of two brokers: the first one is for the bootstrap, the next for id 0."""
    with bench.sink("--brokers", "2") as sink, bench.proxy(TSPROXY, sink) as proxy:
        port = str(proxy.port + 2)
        command = (load_programs().herd, "--port", port, "--ports", "2", "--connections", "20")
        with bench.helper("herd", command) as herd:
            for _ in range(2):
                herd.say("go")
                assert json.loads(herd.hear())["failures"] == 0


def test_a_cluster_of_many_topics_names_them_all(bench: Bench) -> None:
    with (
        bench.sink("--topics", "300", "--partitions", "4") as sink,
        socket.create_connection(("127.0.0.1", sink)) as client,
    ):
        client.sendall(metadata_of_all())
        with client.makefile("rb") as file:
            answer = file.read(int.from_bytes(file.read(4), "big"))
    assert answer.count(b"topic-000") == 300


def test_a_wrong_error_code_ends_the_load(bench: Bench) -> None:
    load = Load(B200, connections=1, in_flight=1, expected_code=ErrorCode.INVALID_TIMESTAMP)
    with bench.sink() as sink, pytest.raises(ProgramError, match="error code 0"):
        bench.load(load, direct(sink))


def test_a_wrong_correlation_id_ends_the_load(bench: Bench) -> None:
    with _always_answering((7).to_bytes(4, "big")) as port, pytest.raises(ProgramError, match="id 7 came"):
        bench.load(Load(B200, connections=1, in_flight=1), direct(port))


def test_requests_that_a_stuck_sink_swallows_are_not_taken_for_answered(bench: Bench) -> None:
    load = Load(B200, connections=1, in_flight=1)
    with (
        bench.sink("--stuck") as sink,
        bench.generator(load, direct(sink), warm_up=0, seconds=0.1, patience_s=0) as generator,
    ):
        generator.say("go")
        assert '"requests": 0,' in generator.hear()


def test_a_proxy_that_does_not_start_is_told_with_its_last_words(bench: Bench) -> None:
    proxy = replace(TSPROXY, command=lambda place: ("sh", "-c", "echo no such thing >&2; exit 3"))
    with pytest.raises(ProgramError, match="ended with 3: no such thing"), bench.proxy(proxy, 1):
        pass


class _always_answering:  # noqa: N801 - reads as a statement where it is used
    """A server whose every answer is `payload`, whatever is asked; its port."""

    def __init__(self, payload: bytes) -> None:
        self._answer = len(payload).to_bytes(4, "big") + payload
        self._server = socket.create_server(("127.0.0.1", 0))

    def __enter__(self) -> int:
        threading.Thread(target=self._serve, daemon=True).start()
        return self._server.getsockname()[1]

    def __exit__(self, *_: object) -> None:
        self._server.close()

    def _serve(self) -> None:
        connection, _ = self._server.accept()
        with connection:
            while connection.recv(65_536):
                connection.sendall(self._answer)


def nginx_that_says(tmp_path: Path, options: str) -> Path:
    program = tmp_path / "nginx"
    program.write_text(f"#!/bin/sh\necho 'configure arguments: {options}' >&2\n")
    program.chmod(0o755)
    return program


def test_the_module_is_in_the_folder_that_nginx_names(tmp_path):
    nginx = nginx_that_says(tmp_path, f"--with-stream=dynamic --modules-path={tmp_path} --with-x")
    with pytest.raises(MissingError, match="libnginx-mod-stream"):
        nginx_stream_module(nginx)
    (tmp_path / "ngx_stream_module.so").touch()
    assert nginx_stream_module(nginx) == tmp_path / "ngx_stream_module.so"


def test_without_such_a_folder_it_is_relative_to_the_prefix(tmp_path):
    nginx = nginx_that_says(tmp_path, "--with-stream=dynamic")
    assert nginx_stream_module(nginx) == Path("modules/ngx_stream_module.so")

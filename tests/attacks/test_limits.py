"""Clients that take all there is, in front of a real broker: it does not notice, and the others go on."""

import asyncio
import contextlib
import ssl
import struct

import pytest
from aiokafka import AIOKafkaProducer

from tests.attacks.attacker import (
    HOST,
    PATIENCE_S,
    answer_to,
    attackers,
    far_ahead,
    metric,
    port_of,
    produce,
    resident_mib,
    until,
)
from tests.wire.batches import batch
from tsproxy.clock import Clock
from tsproxy.testing.kafka_cluster import KafkaCluster
from tsproxy.testing.proxy import RunningProxy

MIB = 1 << 20
ANNOUNCED = 90_000_000
SENT = 200_000
ATTACKERS = 8
larger = pytest.mark.full_only("tests/proxy/test_limits.py has it without a broker")


def beginning(announced, sent, topic=b"t"):
    """The first bytes of a Produce v3 request, in good order as far as they go."""
    head = struct.pack(">hhih", 0, 3, 1, 1) + b"a" + struct.pack(">hhi", -1, -1, 10_000)
    head += struct.pack(">ih", 1, len(topic)) + topic + struct.pack(">iii", 1, 0, announced - 100)
    return struct.pack(">i", announced) + head + bytes(sent - len(head) - 4)


def stalled(port, announced, sent, count=ATTACKERS):
    """So many connections that have sent the beginning of a request each, and say no more."""
    return attackers(port, beginning(announced, sent), count)


async def has_come(proxy, size):
    return await metric(proxy, 'tsproxy_bytes_total{direction="from_client"}') >= size


@pytest.mark.broker
async def test_a_broker_does_not_notice_frames_that_are_announced_and_do_not_come(topic):
    """Straight to the broker, the same eight connections take its heap and make it deaf for good."""
    async with KafkaCluster(version="4.4.0", heap="512m") as kafka:
        await kafka.create_topic(topic)
        async with RunningProxy(kafka.bootstrap_servers) as proxy:
            before_mib = resident_mib(proxy)
            async with (
                stalled(port_of(proxy), ANNOUNCED, SENT),
                AIOKafkaProducer(bootstrap_servers=proxy.bootstrap_servers, acks="all") as producer,
            ):
                await until(lambda: has_come(proxy, ATTACKERS * SENT), "the beginnings have come")
                for n in range(100):
                    await producer.send_and_wait(topic, str(n).encode())
                grown_mib = resident_mib(proxy) - before_mib
            async with AIOKafkaProducer(bootstrap_servers=kafka.bootstrap_servers) as straight:
                await straight.send_and_wait(topic, b"after them all")

        assert await kafka.end_offsets(topic) == {0: 101}
        assert "OutOfMemoryError" not in kafka.log_text(1)
    assert grown_mib < 4 * ATTACKERS * SENT / MIB + 16


async def test_a_frame_that_stalls_is_cut_off_and_a_good_client_beside_it_goes_on(kafka_440, topic):
    await kafka_440.create_topic(topic)
    settings = {"limits.stalled_frame": "100ms"}
    async with (
        RunningProxy(kafka_440.bootstrap_servers, settings=settings) as proxy,
        AIOKafkaProducer(bootstrap_servers=proxy.bootstrap_servers) as producer,
        stalled(port_of(proxy), MIB, 1000) as readers,
    ):
        for reader, _ in readers:
            with contextlib.suppress(ConnectionResetError):
                assert await asyncio.wait_for(reader.read(), PATIENCE_S) == b""
        await producer.send_and_wait(topic, b"x")
        assert await metric(proxy, 'tsproxy_limits_total{limit="stalled_frame"}') == ATTACKERS

    told = [line for line in proxy.log if line.get("reason") == "stalled_frame"]
    assert len(told) == ATTACKERS
    assert told[0]["text"].endswith(f"came 1000 bytes of the {MIB + 4} that it announced")


@larger
async def test_over_the_bytes_for_all_the_largest_goes_at_once_and_the_others_go_on(kafka_440, topic):
    await kafka_440.create_topic(topic)
    settings = {"limits.buffered": "8MiB"}
    async with (
        RunningProxy(kafka_440.bootstrap_servers, settings=settings) as proxy,
        AIOKafkaProducer(bootstrap_servers=proxy.bootstrap_servers) as producer,
        stalled(port_of(proxy), ANNOUNCED, 1000, count=3) as small,
        stalled(port_of(proxy), ANNOUNCED, 16 * MIB, count=1) as [(large, _)],
    ):
        with contextlib.suppress(ConnectionResetError):
            assert await asyncio.wait_for(large.read(), PATIENCE_S) == b""
        await producer.send_and_wait(topic, b"x")
        assert not any(reader.at_eof() for reader, _ in small)
        assert await metric(proxy, 'tsproxy_limits_total{limit="buffered"}') == 1


@larger
async def test_connections_beyond_the_limit_are_closed_unread_and_told_at_a_bounded_rate(kafka_440):
    settings = {"limits.connections_per_address": "5"}
    async with RunningProxy(kafka_440.bootstrap_servers, settings=settings) as proxy:
        kept = [await asyncio.open_connection(HOST, port_of(proxy)) for _ in range(5)]
        for _ in range(50):
            reader, writer = await asyncio.open_connection(HOST, port_of(proxy))
            with contextlib.suppress(ConnectionResetError):
                assert await asyncio.wait_for(reader.read(), PATIENCE_S) == b""
            writer.close()
        assert await metric(proxy, 'tsproxy_limits_total{limit="connections_per_address"}') == 50

        kept.pop()[1].close()

        async def is_let_in():
            reader, writer = await asyncio.open_connection(HOST, port_of(proxy))
            with contextlib.suppress(TimeoutError, ConnectionResetError):
                await asyncio.wait_for(reader.read(), 0.5)
                writer.close()
                return False
            writer.close()
            return True

        await until(is_let_in, "a place is free again")
        for _, writer in kept:
            writer.close()
    told = [line for line in proxy.log if line["event"] == "connection_rejected"]
    assert 0 < len(told) <= 15
    assert told[0]["limit"] == "connections_per_address"


@larger
async def test_a_handshake_that_does_not_come_ends_and_is_told(kafka_440, certificates, tmp_path):
    identity = certificates.issue("proxy")
    file = tmp_path / "tsproxy.yaml"
    file.write_text(
        f"""\
upstream: {{ bootstrap_servers: ["{kafka_440.bootstrap_servers}"] }}
listeners:
  - bind: {HOST}:0
    tls: {{ certificate: "{identity.certificate}", key: "{identity.key}" }}
limits: {{ handshake: 200ms }}
"""
    )
    async with RunningProxy(config=file) as proxy:
        reader, writer = await asyncio.open_connection(HOST, port_of(proxy))
        with contextlib.suppress(ConnectionResetError):
            assert await asyncio.wait_for(reader.read(), PATIENCE_S) == b""
        writer.close()
        assert await metric(proxy, 'tsproxy_limits_total{limit="handshake"}') == 1
        await asyncio.to_thread(ssl.get_server_certificate, (HOST, port_of(proxy)))
    [told] = [line for line in proxy.log if line["event"] == "tls_handshake_failed"]
    assert "0.2 s" in told["error"]


@larger
async def test_a_reload_changes_the_limits_of_those_who_are_connected(kafka_440, tmp_path):
    file = tmp_path / "tsproxy.yaml"
    text = f"""\
upstream: {{ bootstrap_servers: ["{kafka_440.bootstrap_servers}"] }}
listeners: [{{ bind: "{HOST}:0" }}]
"""
    file.write_text(text)
    async with (
        RunningProxy(config=file) as proxy,
        stalled(port_of(proxy), MIB, 1000, count=1) as [(reader, _)],
    ):
        await until(lambda: has_come(proxy, 1000), "the beginning has come")
        file.write_text(text + "limits: { stalled_frame: 100ms }\n")
        with contextlib.suppress(ConnectionResetError):
            assert await asyncio.wait_for(reader.read(), PATIENCE_S) == b""


@larger
async def test_several_workers_keep_the_limit_on_all_connections_together(kafka_440):
    settings = {"limits.connections": "10"}
    arguments = ["--workers", "2"]
    async with RunningProxy(kafka_440.bootstrap_servers, settings=settings, arguments=arguments) as proxy:
        ends = [await asyncio.open_connection(HOST, port_of(proxy)) for _ in range(60)]
        rejected = 'tsproxy_limits_total{limit="connections"}'
        await until(lambda: at_least(proxy, rejected, 50), "all but ten are rejected")
        assert await metric(proxy, rejected) < 60
        for _, writer in ends:
            writer.close()


@larger
async def test_who_has_much_rejected_is_told_to_wait_and_made_to(kafka_440, topic):
    """80 MB of rejected batches are over a second's worth of what may be rejected."""
    await kafka_440.create_topic(topic)
    async with RunningProxy(kafka_440.bootstrap_servers) as proxy:
        await until(lambda: _is_rejected(proxy, topic), "the limits of the topic are known")
        bad = batch([Clock().now_ms() * 1000], value=bytes(80 * MIB))
        reader, writer = await asyncio.open_connection(HOST, port_of(proxy))
        writer.write(produce(topic.encode(), bad) + produce(topic.encode(), far_ahead(Clock())))
        told_ms = []
        for _ in range(2):
            answer = await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))
            told_ms.append(int.from_bytes(answer[-4:], "big"))
        writer.close()
        assert 200 <= told_ms[0] <= 1_000
        assert await metric(proxy, "tsproxy_throttle_seconds_total") >= 0.2


@larger
async def test_who_makes_a_new_connection_for_each_rejection_is_made_to_wait_as_well(kafka_440, topic):
    await kafka_440.create_topic(topic)
    async with RunningProxy(kafka_440.bootstrap_servers) as proxy:
        await until(lambda: _is_rejected(proxy, topic), "the limits of the topic are known")
        large = produce(topic.encode(), batch([Clock().now_ms() * 1000], value=bytes(90 * MIB)))
        assert await answer_to(port_of(proxy), large)
        kept_ms = []
        for number in range(3):
            small = produce(topic.encode(), far_ahead(Clock()), client_id=b"%d" % number)
            began_ms = Clock().now_ms()
            assert await answer_to(port_of(proxy), small)
            kept_ms.append(Clock().now_ms() - began_ms)
        # All together, for what the large one cost: it settles at what is free.
        assert sum(kept_ms) >= 200
        assert await metric(proxy, "tsproxy_throttle_seconds_total") >= 0.2


async def _is_rejected(proxy, topic):
    await answer_to(port_of(proxy), produce(topic.encode(), far_ahead(Clock())))
    return await metric(proxy, f'tsproxy_topic_bad_records_total{{topic="{topic}"}}') > 0


async def at_least(proxy, series, value):
    return await metric(proxy, series) >= value


def test_the_first_bytes_are_a_good_beginning():
    sent = beginning(ANNOUNCED, SENT)

    assert len(sent) == SENT
    assert int.from_bytes(sent[:4], "big") == ANNOUNCED

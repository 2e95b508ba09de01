"""The decision log of a real proxy in front of a real broker, through what disks and operators do to it."""

import contextlib

from aiokafka import AIOKafkaProducer

from tests.proxy.running import EVERY_SECOND, page, send, until_page
from tsproxy.testing.proxy import RunningProxy


def fill(path):
    """Makes a file that takes all the room there is."""
    with path.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"x" * 4096)


async def test_with_a_full_disk_clients_are_served_and_the_log_is_whole_when_there_is_room_again(
    kafka_440, topic, small_disk
):
    await kafka_440.create_topic(topic)
    ballast = small_disk / "ballast"
    settings = EVERY_SECOND | {"decisions.rotate.size": "1KiB"}  # soon a new file, for which is no room
    async with RunningProxy(
        kafka_440.bootstrap_servers, decisions=small_disk / "log", settings=settings
    ) as proxy:
        await until_page(proxy, "/readyz", 200, "ready")
        fill(ballast)
        await until_page(proxy, "/readyz?verbose", 200, "No space left on device")
        assert await page(proxy.admin_address, "/readyz") == (200, "ready\n")
        verbose = "ready\nwarning: the decision log cannot be written: No space left on device"
        assert (await page(proxy.admin_address, "/readyz?verbose"))[1].startswith(verbose)
        await until_page(proxy, "/", 200, "the decision log cannot be written")
        await until_page(proxy, "/metrics", 200, "tsproxy_decision_log_writable 0.0")
        await send(proxy, topic, b"while the disk is full")
        ballast.unlink()
        await until_page(proxy, "/metrics", 200, "tsproxy_decision_log_writable 1.0")
        status, verbose = await page(proxy.admin_address, "/readyz?verbose")
        assert status == 200
        assert "decision log" not in verbose

    lines = proxy.decisions()
    assert [line["seq"] for line in lines] == list(range(len(lines)))
    assert sum(line["records"] for line in lines if line["event"] == "counters") == 1
    assert {line["lines_dropped"] for line in lines if line["event"] == "heartbeat"} == {0}
    told = [line["event"] for line in proxy.log]
    assert told.index("decision_log_stopped") < told.index("decision_log_resumed")


async def test_hashed_clients_stay_one_client_over_restarts_and_are_named_nowhere(kafka_440, topic, tmp_path):
    await kafka_440.create_topic(topic)
    settings = {"decisions.privacy.addresses": "hash", "decisions.privacy.principals": "drop"}
    for _ in range(2):
        async with (
            RunningProxy(kafka_440.bootstrap_servers, decisions=tmp_path, settings=settings) as proxy,
            AIOKafkaProducer(bootstrap_servers=proxy.bootstrap_servers) as producer,
        ):
            await producer.send_and_wait(topic, b"x")

    lines = proxy.decisions()
    seen = [line["addresses"] for line in lines if line["event"] == "counters"]
    assert len(seen) == 2
    assert seen[0] == seen[1]
    assert "127.0.0.1" not in "".join(path.read_text() for path in tmp_path.glob("*.jsonl"))
    [start, _] = [line for line in lines if line.get("kind") == "start"]
    assert start["facts"]["privacy"] == {"addresses": "hash", "principals": "drop"}

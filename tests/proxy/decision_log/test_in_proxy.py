"""The decision log of a real proxy in front of a real broker, through what disks and operators do to it."""

import contextlib

from aiokafka import AIOKafkaProducer

from tsproxy.testing.proxy import RunningProxy


def fill(path):
    """Makes a file that takes all the room there is."""
    with path.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"x" * 4096)


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

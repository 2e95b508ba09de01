"""Clients in Go and JavaScript: what each is told of its records is what topic and decision log hold.

`rigs/truth` has the clients that need no other language, and the report.
"""

import asyncio
from collections import Counter
from random import Random

import pytest

from tests.clients.families import chosen
from tests.clients.program import ProgramError, running
from tsproxy.testing.client_options import ClientOptions
from tsproxy.testing.proxy import RunningProxy

FOREIGN = [family for family in chosen("4.4.0") if family.needs]
RECORDS = 5
ROWS = {
    "fine": ({}, 10, 0),
    "no-key": ({"cleanup.policy": "compact"}, 10, 87),
    "too-large-record": ({"max.message.bytes": "2000"}, 5_000, 10),
}
"""Name of the topics -> their configuration, the bytes of a value (which no codec makes short), the code."""


async def send_all(family, servers):
    """Topic -> how many records the client was told are stored (True) and are not (False)."""
    told = {}
    async with running(family, "4.4.0", ClientOptions(servers)) as program:
        await program.do("connect")
        for name, (_, size, _) in ROWS.items():
            told[f"{name}-{family}"] = Counter(
                [await is_stored(program, f"{name}-{family}", size) for _ in range(RECORDS)]
            )
        await program.do("close")
    return told


async def is_stored(program, topic, size):
    try:
        await program.do("produce", topic, 0, Random(topic).randbytes(size // 2).hex())
    except ProgramError:
        return False
    return True


@pytest.mark.go_and_node
async def test_clients_of_other_languages_topics_and_the_log_agree(kafka_440):
    for name, (config, _, _) in ROWS.items():
        await asyncio.gather(
            *[kafka_440.create_topic(f"{name}-{family}", config=config) for family in FOREIGN]
        )
    async with RunningProxy(kafka_440.bootstrap_servers) as proxy:
        sent = [send_all(family, proxy.bootstrap_servers) for family in FOREIGN]
        told = {topic: each for one in await asyncio.gather(*sent) for topic, each in one.items()}

    for name, (_, _, code) in ROWS.items():
        for topic in (f"{name}-{family}" for family in FOREIGN):
            lines = [
                line for line in proxy.decisions() if line["event"] == "counters" and line["topic"] == topic
            ]
            assert told[topic] == {code == 0: RECORDS}, topic
            assert sum((await kafka_440.end_offsets(topic)).values()) == told[topic][True], topic
            assert {(line["error_code"], line["is_final"]) for line in lines} == {(code, True)}, topic
            assert sum(line["records"] for line in lines) == RECORDS, topic

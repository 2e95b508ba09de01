"""Idempotent producers that never stop while something happens to the proxy or to the cluster.

Each record's value is its own, so that what is in the log at the end can be compared one by one: each
acknowledged record is there once, none is there that nobody sent, and no callback has seen an error.
"""

import asyncio
from collections import Counter
from contextlib import asynccontextmanager

from rigs.chaos.producers import JavaClient, LibrdkafkaClient, Told
from tests.full_only import IS_FULL
from tests.kit.topics import values_of
from tests.proxy.world import until

PATIENCE_S = 180
RATE = {"batch": 50 if IS_FULL else 10, "pause_s": 0.02}


class Load:
    """The clients, and what they were told."""

    def __init__(self, clients):
        self._told = [client.told for client in clients]

    def acknowledged(self):
        return sum(len(told.acknowledged) for told in self._told)

    def failed(self):
        return [told.failed for told in self._told if told.failed]

    async def goes_on(self, records):
        """Returns when so many more have been acknowledged."""
        wanted = self.acknowledged() + records
        await until(lambda: self.failed() or self.acknowledged() >= wanted, patience_s=PATIENCE_S)
        assert not self.failed()

    async def is_in_the_log_once(self, kafka, topic):
        """Asserts it, reading straight from the brokers."""
        assert self.failed() == []
        assert [told.sent - told.acknowledged for told in self._told] == [set()] * len(self._told)
        stored = Counter(value.decode() for value in await values_of(kafka, topic))
        assert stored == Counter({value: 1 for told in self._told for value in told.acknowledged})


@asynccontextmanager
async def under_load(topic, options, *, librdkafka=2, java=1):
    """A Load by so many producers of each kind; `options` are a proxy's (`ClientOptions`)."""
    clients = [LibrdkafkaClient(Told(f"c{n}", "all", **RATE), topic, options) for n in range(librdkafka)]
    clients += [JavaClient(Told(f"j{n}", "all", **RATE), topic, options) for n in range(java)]
    tasks, load = [asyncio.create_task(client.run()) for client in clients], Load(clients)
    try:
        await until(lambda: load.acknowledged() > RATE["batch"] or any(task.done() for task in tasks))
        yield load
    finally:
        for client in clients:
            client.stop()
        await asyncio.gather(*tasks)

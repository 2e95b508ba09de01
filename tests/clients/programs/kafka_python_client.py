"""kafka-python. Options are the plain words of `plain_words`."""

import asyncio
import time

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import KafkaAdminClient, NewTopic
from kafka.errors import KafkaError

from tests.clients.programs.plain_words import client_options
from tests.clients.programs.protocol import (
    PARTITIONS,
    PATIENCE_S,
    STORED,
    is_idempotent,
    serve,
    text_of,
    timed,
)

LINGER_MS = 1_000
"""Long enough for all records of one `batch` to share one."""


class KafkaPythonClient:
    def connect(self, options):
        self._options = client_options(options).aiokafka()  # both know the same words
        self._options["client_id"] = options["client.id"]
        self._options["bootstrap_servers"] = self._options["bootstrap_servers"].split(",")
        self._seen = set()
        self._consumer = self._together = None
        self._is_idempotent = is_idempotent(options)
        self._admin = KafkaAdminClient(**self._options)
        self._producer = KafkaProducer(**self._options, enable_idempotence=True, delivery_timeout_ms=180_000)

    def create(self, topic, replicas):
        self._admin.create_topics([NewTopic(topic, PARTITIONS, int(replicas))])

    def produce(self, topic, partition, value):
        sent = self._producer.send(topic, value.encode(), partition=int(partition)).get(180)
        return [str(sent.offset)]

    def batch(self, topic, *records):
        if self._together is None:
            self._together = KafkaProducer(
                **self._options, enable_idempotence=self._is_idempotent, linger_ms=LINGER_MS
            )
        sent = [
            self._together.send(topic, value, partition=0, timestamp_ms=time)
            for value, time in timed(records)
        ]
        return [said_of(each) for each in sent]

    def join(self, group, topic):
        self._consumer = KafkaConsumer(topic, **self._options, group_id=group, auto_offset_reset="earliest")

    def poll(self, count):
        end = time.monotonic() + PATIENCE_S
        while len(self._seen) < int(count) and time.monotonic() < end:
            for records in self._consumer.poll(timeout_ms=200).values():
                self._seen |= {record.value.decode() for record in records}
        return sorted(self._seen)

    def offsets(self, topic):
        ends = self._consumer.end_offsets([TopicPartition(topic, n) for n in range(PARTITIONS)])
        return [f"{partition.partition}={end}" for partition, end in ends.items()]

    def brokers(self):
        described = self._admin.describe_cluster()["brokers"]
        return [f"{b.get('node_id', b.get('broker_id'))}={b['host']}:{b['port']}" for b in described]

    def close(self):
        self._producer.close(30)
        if self._together is not None:
            self._together.close(30)
        if self._consumer is not None:
            self._consumer.close()
        self._admin.close()


def said_of(future):
    """`stored`, or the error of one record."""
    try:
        future.get(PATIENCE_S)
    except KafkaError as error:
        return text_of(error)
    return STORED


if __name__ == "__main__":
    asyncio.run(serve(KafkaPythonClient()))

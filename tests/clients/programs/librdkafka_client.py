"""librdkafka, as confluent-kafka brings it. Options are librdkafka's own properties."""

import asyncio
import time

from confluent_kafka import Consumer, IsolationLevel, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic, OffsetSpec

from tests.clients.programs.protocol import PARTITIONS, PATIENCE_S, STORED, serve, text_of, timed

IN_ONE_BATCH = {"enable.idempotence": True, "linger.ms": 500}
_PASSING = {
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.OFFSET_NOT_AVAILABLE,
    KafkaError.REPLICA_NOT_AVAILABLE,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
}
"""Rejections of the admin client's ListOffsets that pass, and that it leaves to its user."""


class LibrdkafkaClient:
    def connect(self, options):
        self._options = options
        self._admin = AdminClient(options)
        self._producer = Producer({**options, "enable.idempotence": True, "linger.ms": 0})
        self._consumer = self._together = None
        self._seen = set()

    def create(self, topic, replicas):
        new = NewTopic(topic, PARTITIONS, int(replicas))
        self._admin.create_topics([new], request_timeout=60)[topic].result(60)

    def produce(self, topic, partition, value):
        return [str(sent(self._producer, topic, partition, value))]

    def batch(self, topic, *records):
        self._together = self._together or Producer({**self._options, **IN_ONE_BATCH})
        return sent_together(self._together, topic, timed(records))

    def join(self, group, topic):
        # A request waits behind the fetch on the same connection, so no fetch may wait long.
        more = {"group.id": group, "auto.offset.reset": "earliest", "fetch.wait.max.ms": 50}
        self._consumer = Consumer({**self._options, **more})
        self._consumer.subscribe([topic])

    def poll(self, count):
        end = time.monotonic() + PATIENCE_S
        while len(self._seen) < int(count) and time.monotonic() < end:
            message = self._consumer.poll(0.2)
            if message is not None and message.error() is None:
                self._seen.add(message.value().decode())
        return sorted(self._seen)

    def offsets(self, topic):
        # The admin client has ListOffsets too, but leaves it to its user to ask again after leaders moved.
        ends = [
            self._consumer.get_watermark_offsets(TopicPartition(topic, n), 60)[1] for n in range(PARTITIONS)
        ]
        return [f"{n}={end}" for n, end in enumerate(ends)]

    def brokers(self):
        told = {(b.id, b.host, b.port) for b in self._admin.list_topics(timeout=60).brokers.values()}
        described = self._admin.describe_cluster(request_timeout=60).result(60)
        told |= {(node.id, node.host, node.port) for node in (*described.nodes, described.controller)}
        return [f"{node_id}={host}:{port}" for node_id, host, port in sorted(told)]

    def transact(self, topic, transactional_id, kept, dropped):
        producer = Producer({**self._options, "transactional.id": transactional_id})
        producer.init_transactions(60)
        producer.begin_transaction()
        sent(producer, topic, 0, kept)
        if self._consumer is not None:
            positions = self._consumer.position(self._consumer.assignment())
            group = self._consumer.consumer_group_metadata()
            producer.send_offsets_to_transaction([p for p in positions if p.offset >= 0], group)
        producer.commit_transaction(60)
        producer.begin_transaction()
        sent(producer, topic, 0, dropped)
        producer.abort_transaction(60)
        return self._committed(topic)

    def refuse(self, topic, transactional_id, time_ms):
        producer = Producer({**self._options, **IN_ONE_BATCH, "transactional.id": transactional_id})
        producer.init_transactions(60)
        good, bad = (b"good", int(time.time() * 1000)), (b"bad", int(time_ms))
        told = []
        for records in ([good, bad], [good], [good]):
            producer.begin_transaction()
            told += [("begin", "done")]
            told += zip(("good", "bad"), sent_together(producer, topic, records), strict=False)
            told += [("commit", step(producer.commit_transaction))]
            if told[-1] != ("commit", "done"):
                told += [("abort", step(producer.abort_transaction))]
        return [word for pair in told for word in pair]

    def _committed(self, topic):
        partition = TopicPartition(topic, 0, 0)
        end = self._committed_end(topic)
        reader = Consumer({**self._options, "group.id": "none", "enable.partition.eof": True})
        reader.assign([partition])
        told = set()
        deadline = time.monotonic() + PATIENCE_S
        while reader.position([partition])[0].offset < end and time.monotonic() < deadline:
            message = reader.poll(0.2)
            if message is not None and message.error() is None:
                told.add(message.value().decode())
        reader.close()
        return sorted(told)

    def _committed_end(self, topic):
        asked = {TopicPartition(topic, 0): OffsetSpec.latest()}
        deadline = time.monotonic() + PATIENCE_S
        while True:
            answers = self._admin.list_offsets(asked, isolation_level=IsolationLevel.READ_COMMITTED)
            try:
                (end,) = [answer.result(60).offset for answer in answers.values()]
            except KafkaException as error:
                if error.args[0].code() not in _PASSING or time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
            else:
                return end

    def close(self):
        self._producer.flush(30)
        if self._consumer is not None:
            self._consumer.close()


def sent(producer, topic, partition, value):
    """The offset that the record got."""
    reports = []
    producer.produce(
        topic, value, partition=int(partition), on_delivery=lambda error, it: reports.append((error, it))
    )
    producer.flush(180)
    if not reports:
        raise TimeoutError("no delivery report")
    [(error, message)] = reports
    if error is not None:
        raise KafkaException(error)
    return message.offset()


def sent_together(producer, topic, records):
    """`stored` or the report as Python shows it, for each record."""
    reports = {}
    for number, (value, time_ms) in enumerate(records):
        producer.produce(
            topic,
            value,
            partition=0,
            timestamp=time_ms,
            on_delivery=lambda error, _, number=number: reports.__setitem__(number, error),
        )
    producer.flush(PATIENCE_S)
    return [STORED if reports[number] is None else str(reports[number]) for number in range(len(records))]


def step(act):
    """`done`, or the error of one step of a transaction with what it asks for."""
    try:
        act(60)
    except KafkaException as error:
        told = error.args[0]
        asked = "fatal" if told.fatal() else "abort" if told.txn_requires_abort() else "again"
        return f"{text_of(error)} ({asked})"
    return "done"


if __name__ == "__main__":
    asyncio.run(serve(LibrdkafkaClient()))

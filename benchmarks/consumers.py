"""Several librdkafka consumers, each of which reads one partition from its beginning to its end.

    python benchmarks/consumers.py --bootstrap 127.0.0.1:9192 --topic t --partitions 8 --records 12000 \
        --fetch-bytes 16384 [--ca PEM] [--fill]

With --fill it first writes that many records of 1 KB to each partition, in batches of 16 KB. A consumer for
each partition connects and reads one record. Then the program prints `ready`. For each line on standard input
the consumers read all records, and the program prints the seconds that they needed.
"""

import argparse
import sys
import time
from pathlib import Path
from typing import Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

_RECORD_BYTES: Final = 1_000
_BATCH_BYTES: Final = 16_000
_AT_ONCE: Final = 1_000
_WAIT_S: Final = 0.005
_PATIENCE_S: Final = 60.0


def main() -> None:
    parser = argparse.ArgumentParser(description="consumers that tell how fast they were")
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--partitions", type=int, required=True)
    parser.add_argument("--records", type=int, required=True, help="the number in each partition")
    parser.add_argument("--fetch-bytes", type=int, required=True, help="the size of an answer")
    parser.add_argument("--ca", type=Path, help="the authority to trust; switches TLS on")
    parser.add_argument("--fill", action="store_true", help="write the records first")
    options = parser.parse_args()
    if options.fill:
        fill(options.bootstrap, options.topic, options.partitions, options.records)
    consumers = [_consumer(options) for _ in range(options.partitions)]
    _read(consumers, options.topic, 1)
    print("ready", flush=True)
    for _ in sys.stdin:
        print(_read(consumers, options.topic, options.records), flush=True)


def fill(bootstrap: str, topic: str, partitions: int, records: int) -> None:
    """Writes `records` to each partition. Raises RuntimeError if one is not delivered."""
    failures: list[str] = []

    def delivered(error: KafkaError | None, _: Message) -> None:
        if error is not None:
            failures.append(str(error))

    producer = Producer({"bootstrap.servers": bootstrap, "batch.size": _BATCH_BYTES, "linger.ms": 100})
    value = b"x" * _RECORD_BYTES
    for number in range(records * partitions):
        while True:
            try:
                producer.produce(topic, value, partition=number % partitions, on_delivery=delivered)
                break
            except BufferError:  # its queue is full: wait for deliveries
                producer.poll(0.05)
        producer.poll(0)
    producer.flush()
    if failures:
        raise RuntimeError(f"{len(failures)} records were not delivered: {failures[0]}")


def _consumer(options: argparse.Namespace) -> Consumer:
    tls = {"security.protocol": "SSL", "ssl.ca.location": str(options.ca)} if options.ca else {}
    return Consumer(
        {
            "bootstrap.servers": options.bootstrap,
            "group.id": "bench",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "max.partition.fetch.bytes": options.fetch_bytes,
            "fetch.wait.max.ms": 100,
            **tls,
        }
    )


def _read(consumers: list[Consumer], topic: str, records: int) -> float:
    """Reads `records` of each partition from its beginning, all at once. Returns the seconds it took.

    Raises RuntimeError if they do not arrive, KafkaException for an error of a partition.
    """
    begun = time.monotonic()
    for partition, consumer in enumerate(consumers):
        consumer.assign([TopicPartition(topic, partition, 0)])
    left = dict.fromkeys(consumers, records)
    while left:
        for consumer in list(left):
            messages = consumer.consume(min(_AT_ONCE, left[consumer]), _WAIT_S)
            for message in messages:
                if (error := message.error()) is not None:
                    raise KafkaException(error)
            left[consumer] -= len(messages)
            if left[consumer] == 0:
                del left[consumer]
        if time.monotonic() - begun > _PATIENCE_S:
            raise RuntimeError(f"{sum(left.values())} records did not arrive")
    seconds = time.monotonic() - begun
    for consumer in consumers:
        consumer.unassign()
    return seconds


if __name__ == "__main__":
    main()

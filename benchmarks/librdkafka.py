"""A librdkafka producer that prints its speed and latencies as one line of JSON.

    python benchmarks/librdkafka.py --bootstrap 127.0.0.1:9192 --topic t --records 100000 --rate 20000

Latencies are librdkafka's own, from `produce()` to the delivery report.
"""

import argparse
import json
import time
from typing import Final

from confluent_kafka import KafkaError, Message, Producer

_RECORD_BYTES: Final = 1_000
_POLL_EVERY: Final = 100


def main() -> None:
    parser = argparse.ArgumentParser(description="a librdkafka producer that tells how fast it was")
    parser.add_argument("--bootstrap", required=True)
    parser.add_argument("--topic", required=True)
    parser.add_argument("--records", type=int, required=True)
    parser.add_argument("--rate", type=float, default=0.0, help="records a second; 0: as fast as it goes")
    options = parser.parse_args()
    print(json.dumps(produce(options.bootstrap, options.topic, options.records, options.rate)))


def produce(bootstrap: str, topic: str, records: int, rate: float) -> dict[str, float]:
    """Sends `records` of 1 KB. Returns records per second and latencies in ms; raises RuntimeError."""
    latencies_ms: list[float] = []
    failures: list[str] = []

    def delivered(error: KafkaError | None, message: Message) -> None:
        if error is not None:
            failures.append(str(error))
        else:
            latencies_ms.append(1000 * (message.latency() or 0.0))

    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", "linger.ms": 5})
    value = b"x" * _RECORD_BYTES
    begun = time.monotonic()
    for number in range(records):
        if rate and number % _POLL_EVERY == 0:
            while (early_s := begun + number / rate - time.monotonic()) > 0:
                producer.poll(early_s)
        while True:
            try:
                producer.produce(topic, value, on_delivery=delivered)
                break
            except BufferError:  # its queue is full: wait for deliveries
                producer.poll(0.05)
        if number % _POLL_EVERY == 0:
            producer.poll(0)
    producer.flush()
    seconds = time.monotonic() - begun
    if failures or len(latencies_ms) != records:
        raise RuntimeError(f"{len(latencies_ms)} of {records} delivered; {failures[:1]}")
    latencies_ms.sort()
    return {
        "records_per_s": records / seconds,
        "p50_ms": latencies_ms[records // 2],
        "p99_ms": latencies_ms[records * 99 // 100],
        "p999_ms": latencies_ms[records * 999 // 1000],
    }


if __name__ == "__main__":
    main()

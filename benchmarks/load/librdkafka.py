"""A librdkafka producer under load. `benchmarks/clients.py` says what its words and lines mean.

python benchmarks/load/librdkafka.py send 127.0.0.1:9192 TOPIC CODEC VALUES WARM_UP
"""

import sys
import time
from pathlib import Path
from typing import Final

from confluent_kafka import KafkaError, Message, Producer

_VALUE_BYTES: Final = 1_000
_POLL_EVERY: Final = 100


def main() -> None:
    _, bootstrap, topic, codec, values, warm_up = sys.argv[1:]
    producer = Producer({"bootstrap.servers": bootstrap, "compression.type": codec})
    whole = Path(values).read_bytes()
    cut = [whole[at : at + _VALUE_BYTES] for at in range(0, len(whole), _VALUE_BYTES)]
    for _ in range(int(warm_up)):
        send(producer, topic, cut[:1], 1)
    print("ready", flush=True)
    for line in sys.stdin:
        begun = time.monotonic()
        send(producer, topic, cut, int(line))
        print(time.monotonic() - begun, flush=True)


def send(producer: Producer, topic: str, values: list[bytes], records: int) -> None:
    """Sends `records` and returns when they are acknowledged. Raises RuntimeError if one is not."""
    failures: list[str] = []

    def delivered(error: KafkaError | None, _message: Message) -> None:
        if error is not None:
            failures.append(str(error))

    for number in range(records):
        while True:
            try:
                producer.produce(topic, values[number % len(values)], on_delivery=delivered)
                break
            except BufferError:  # its queue is full: wait for deliveries
                producer.poll(0.05)
        if number % _POLL_EVERY == 0:
            producer.poll(0)
    producer.flush()
    if failures:
        raise RuntimeError(f"{len(failures)} of {records} were not delivered: {failures[0]}")


if __name__ == "__main__":
    main()

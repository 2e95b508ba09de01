"""The records whose maximum a header must tell: a broker's begins at -1, and negative times do not lower it.

`LogValidator.java`: `long maxTimestamp = RecordBatch.NO_TIMESTAMP`.
"""

from itertools import product

from rigs.differential.lines import Direct, Proxied, address_of, now_ms
from rigs.differential.stored import stored_batches
from tests.verdicts.rows import KEEP, v2_at
from tsproxy.model.kafka import Codec, ErrorCode
from tsproxy.model.verdict import Reason, TopicLimits
from tsproxy.model.view import View
from tsproxy.testing.kafka_cluster import KafkaCluster

TIMES = ([-5, -3], [-1, -5], [-5, -1], [-1], [-3], [-1, 7], [-5, 7], [0, -2])
HEADERS = (-5, -3, -1, 7, 0)
VERSION = 11


async def test_the_reason_says_what_a_broker_does_to_the_header(kafka: KafkaCluster, topic: str):
    rows = [
        (times, header, codec)
        for codec, times, header in product((Codec.NONE, Codec.GZIP), TIMES, HEADERS)
        if codec is Codec.NONE or header in (times[0], -1)
    ]
    await kafka.create_topic(topic, partitions=len(rows), config=KEEP)
    address = address_of(kafka)
    with Direct(address) as direct, Proxied(address, View(topics={topic: TopicLimits()})) as proxied:
        sent = [
            (topic, partition, v2_at(*times, codec=codec, max_timestamp=header)(now_ms()))
            for partition, (times, header, codec) in enumerate(rows)
        ]
        answers = proxied.told(VERSION, sent)
        assert {answer.error_code for answer in answers.values()} == {ErrorCode.NONE}
        reasons = {outcome.partition: outcome.reason for outcome in proxied.outcomes}
        for partition, (times, header, codec) in enumerate(rows):
            (stored,) = stored_batches(direct, topic, partition, False)
            maximum = int.from_bytes(stored.comparable[23:31], "big", signed=True)
            assert maximum == max(-1, *times), (times, header, codec)
            expected = None if maximum == header else Reason.HEADER_MISMATCH
            assert reasons[partition] is expected, (times, header, codec)

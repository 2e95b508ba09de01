"""A codec that nobody knows, below Produce v7: a broker meets it only in partitions that it would write to.

`ProduceRequest.validateRecords` throws for it, and all of the request is answered with UNKNOWN_SERVER_ERROR.
Only partitions that exist and that the client may write to come there: `KafkaApis.scala`.
"""

import pytest

from rigs.differential.lines import now_ms
from rigs.differential.stored import stored_batches
from tests.verdicts.rows import HOUR, v2
from tsproxy.model.kafka import ErrorCode

GOOD, BAD, CODEC_5 = v2(0), v2(2 * HOUR), v2(0, codec=5, dialect=bytes)
BIT_6 = v2(0, codec=5, dialect=bytes, attributes=0x40)
TIME, UNKNOWN, NO_TOPIC = (
    ErrorCode.INVALID_TIMESTAMP,
    ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
)
NONE = ErrorCode.NONE

ROWS = {
    "in a topic that does not exist": (5, {("", 0): GOOD, ("ghost", 0): CODEC_5}, [NONE, NO_TOPIC], None),
    "with bit 6": (5, {("", 0): GOOD, ("ghost", 0): BIT_6}, [NONE, NO_TOPIC], None),
    "beside a bad time": (
        5,
        {("", 0): BAD, ("", 1): GOOD, ("ghost", 0): CODEC_5},
        [TIME, NONE, NO_TOPIC],
        None,
    ),
    "in a partition that does not exist": (
        3,
        {("", 0): BAD, ("", 1): GOOD, ("", 77): CODEC_5},
        [TIME, NONE, NO_TOPIC],
        None,
    ),
    "in one that does": (6, {("", 0): GOOD, ("", 1): CODEC_5}, [UNKNOWN, UNKNOWN], None),
    "alone": (5, {("", 1): CODEC_5}, [UNKNOWN], None),
    "in one that does, beside a bad time": (
        5,
        {("", 0): BAD, ("", 1): GOOD, ("", 2): CODEC_5},
        [UNKNOWN, UNKNOWN, UNKNOWN],
        [TIME, UNKNOWN, UNKNOWN],
    ),
    "from v7 on": (7, {("", 0): BAD, ("", 1): GOOD, ("", 2): CODEC_5}, [TIME, NONE, UNKNOWN], None),
}
"""(version, records by topic and partition, the broker's codes, the proxy's where they are others)."""


@pytest.mark.parametrize(("version", "parts", "brokers", "ours"), ROWS.values(), ids=ROWS)
def test_no_good_partition_is_rejected_for_it_but_by_the_broker(
    proxied, direct, topic, version, parts, brokers, ours
):
    moment_ms = now_ms()
    sent = [(name or topic, partition, records(moment_ms)) for (name, partition), records in parts.items()]
    for line, expected in ((direct, brokers), (proxied, ours or brokers)):
        answers = line.told(version, sent)
        assert [answers[name, partition].error_code for name, partition, _ in sent] == expected
    stored = [len(list(stored_batches(direct, topic, partition, False))) for partition in range(3)]
    good = [code == NONE and name == topic for (name, _, _), code in zip(sent, brokers, strict=True)]
    assert sum(stored) == 2 * sum(good), "what one of them takes the other takes"

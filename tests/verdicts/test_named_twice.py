"""A partition, or a topic, that one request names twice, before real brokers. For such a partition the proxy
closes the connection (`tests/session/test_produce.py`)."""

import pytest

from rigs.differential.lines import Direct, now_ms
from rigs.differential.requests import read_answers
from rigs.differential.stored import stored_batches
from tests.session.messages import produce_entries
from tests.verdicts.rows import v2
from tsproxy.model.kafka import ErrorCode

VERSIONS = [3, 7, 11]


def frame_of(version: int, topic: str, *entries: tuple[int, ...]) -> bytes:
    """One request with an entry of `topic` for each of `entries`, which name its partitions."""
    number = iter(range(1, 10))
    named = [[(at, v2(*[0] * next(number))(now_ms())) for at in partitions] for partitions in entries]
    return produce_entries([(topic, partitions) for partitions in named], version)


def stored(line: Direct, topic: str) -> list[list[int]]:
    """The number of records in each batch of each partition."""
    return [
        [
            int.from_bytes(each.comparable[11:15], "big") + 1
            for each in stored_batches(line, topic, partition, False)
        ]
        for partition in range(3)
    ]


TWICE = {"in one entry of its topic": [(0, 0, 1)], "in two": [(0, 1), (0,)]}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("entries", TWICE.values(), ids=TWICE)
def test_a_broker_stores_the_last_batch_of_a_partition_named_twice_and_answers_once(
    direct, topic, entries, version
):
    (payload,) = direct.ask([frame_of(version, topic, *entries)])
    answers = read_answers(version, payload)
    assert [answers[topic, partition].error_code for partition in (0, 1)] == [ErrorCode.NONE] * 2
    last = 2 if len(entries) == 1 else 3
    assert stored(direct, topic)[0] == [last]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("way", ["direct", "proxied"])
def test_a_topic_named_twice_with_different_partitions_is_stored_whole(way, direct, proxied, topic, version):
    line = direct if way == "direct" else proxied
    (payload,) = line.ask([frame_of(version, topic, (2,), (0, 1))])
    answers = read_answers(version, payload)
    assert {each.error_code for each in answers.values()} == {ErrorCode.NONE}
    assert len(answers) == 3
    assert stored(direct, topic) == [[2], [3], [1]]

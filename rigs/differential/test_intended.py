"""The rows of intended differences claim what they say, and nothing beside it."""

import gzip
from collections.abc import Sequence
from dataclasses import replace

import pytest

from rigs.differential.comparison import Answer, Exchange
from rigs.differential.generator import Part
from rigs.differential.intended import INTENDED, REJECTED, claimed_by
from rigs.differential.topics import Topic
from tests.documents.tables import rows_of
from tests.verdicts.rows import cut_short, v2
from tests.wire.batches import GZIP, batch, record
from tests.wire.test_matches import UNSOUND
from tsproxy.model.kafka import ErrorCode
from tsproxy.model.verdict import TopicLimits

TOPIC, OTHER = Topic("t", "t.d", "t.p", TopicLimits()), Topic("u", "u.d", "u.p", TopicLimits())
UNKNOWN, CORRUPT = ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.CORRUPT_MESSAGE

GOOD = v2(0)(0)
SHORT = cut_short(0, 40)(0)
UNREADABLE = GOOD + bytes(20)
TRANSACTIONAL = v2(0, attributes=0x10)(0)


def test_the_page_has_each_difference_once_and_says_why():
    rows = rows_of("reference/verdicts.md", "what", "broker", "tsproxy", "why")
    assert sorted(row[0] for row in rows) == sorted(INTENDED)
    assert [row for row in rows if not all(row)] == []


def exchange(
    version: int, direct: int, proxied: int, *request: bytes, topics: Sequence[Topic] = ()
) -> Exchange:
    """Both answers to the first partition of `request`. All are of one topic, or each of its own."""
    named = topics or [TOPIC] * len(request)
    parts = tuple(Part(named[at], at, records) for at, records in enumerate(request))
    answers = (Answer(code, -1, "-1", -1, (), None, b"") for code in (direct, proxied))
    return Exchange("3.9.1", version, parts[0], *answers, request=parts)


CLAIMED = {
    "the later reason": exchange(1, UNKNOWN, CORRUPT, UNREADABLE, SHORT),
    "the later reason, the other way round": exchange(2, CORRUPT, UNKNOWN, SHORT, UNREADABLE),
    "a good partition between the two": exchange(0, UNKNOWN, CORRUPT, UNREADABLE, GOOD, SHORT),
    "a topic's partitions are sent together": exchange(
        1, UNKNOWN, CORRUPT, GOOD, SHORT, UNREADABLE, topics=[TOPIC, OTHER, TOPIC]
    ),
}
NOT_CLAIMED = {
    "one reason alone": exchange(1, UNKNOWN, CORRUPT, UNREADABLE, GOOD),
    "one reason twice": exchange(1, UNKNOWN, CORRUPT, UNREADABLE, UNREADABLE),
    "a code that is no partition's reason": exchange(1, ErrorCode.INVALID_RECORD, CORRUPT, UNREADABLE, SHORT),
    "the proxy tells the later reason": exchange(1, CORRUPT, UNKNOWN, UNREADABLE, SHORT),
    "the broker takes what the proxy rejects": exchange(1, ErrorCode.NONE, CORRUPT, UNREADABLE, SHORT),
    "an earlier step": exchange(1, UNKNOWN, CORRUPT, TRANSACTIONAL, UNREADABLE, SHORT),
    "a version of one batch a partition": exchange(3, UNKNOWN, CORRUPT, UNREADABLE, SHORT),
}


@pytest.mark.parametrize("name", CLAIMED)
def test_the_order_of_partitions_explains(name: str):
    assert (claimed_by(CLAIMED[name]) or "").startswith("partitions that reject the whole request")


@pytest.mark.parametrize("name", NOT_CLAIMED)
def test_the_order_of_partitions_does_not_explain(name: str):
    assert claimed_by(NOT_CLAIMED[name]) is None


@pytest.mark.parametrize(("codec", "body"), UNSOUND.items(), ids=["lz4", "zstd"])
@pytest.mark.parametrize("direct", [ErrorCode.NONE, ErrorCode.INVALID_RECORD, ErrorCode.INVALID_TIMESTAMP])
def test_a_match_that_copies_what_is_not_there_explains_whatever_a_broker_says(codec, body, direct):
    assert (claimed_by(exchange(9, direct, UNKNOWN, batch([0], codec, body=body))) or "").startswith(
        ("a match in lz4 or zstd", "compressed data that is broken")
    )


def test_other_data_that_does_not_decompress_is_not_explained_by_a_match():
    for codec in UNSOUND:
        records = batch([0], codec, body=b"no data of any codec")
        assert claimed_by(exchange(9, ErrorCode.NONE, UNKNOWN, records)) is None


@pytest.mark.parametrize(("size", "is_claimed"), [(b"\xec\xb2\xea\xd3\x08", True), (b"\x80\x08", False)])
def test_a_record_that_claims_a_gibibyte_explains_a_broker_without_memory(size: bytes, is_claimed: bool):
    """Found by the differential, before 4.3.1 with a heap of 512 MiB; with 3 GiB both sides answer 87."""
    records = batch([0, 1], GZIP, body=gzip.compress(record(0) + size))
    name = claimed_by(exchange(13, UNKNOWN, ErrorCode.INVALID_RECORD, records))
    assert (name == "a size larger than any heap, inside compressed data") is is_claimed


@pytest.mark.parametrize(
    ("broker", "size", "is_claimed"), [("3.5.2", 99, 1), ("3.6.2", 99, 0), ("3.5.2", None, 0)]
)
def test_a_record_that_does_not_fill_its_size_explains_an_older_broker(broker, size, is_claimed):
    records = batch([0], GZIP, body=gzip.compress(record(0, length=size)))
    found = exchange(7, ErrorCode.INVALID_RECORD, ErrorCode.INVALID_TIMESTAMP, records)
    name = claimed_by(replace(found, broker_version=broker))
    assert name == ("a record that does not fill its size, before 3.6" if is_claimed else None)


@pytest.mark.parametrize(
    ("broker", "text", "message", "is_claimed"),
    [
        ("3.4.1", "k.", f"{REJECTED} due to 'k.'", 1),
        ("3.0.2", "k.", REJECTED, 1),
        ("3.5.2", "k.", f"{REJECTED} due to 'k.'", 0),
        ("3.4.1", "l", f"{REJECTED} due to 'k'", 0),
        ("3.4.1", "k.", f"{REJECTED} due to 'l.'", 0),
    ],
)
def test_the_end_of_a_text_explains_an_older_broker(broker, text, message, is_claimed):
    code = ErrorCode.INVALID_RECORD
    told = Answer(code, -1, "-1", -1, ((0, text),), message, b"")
    named = Answer(code, -1, "-1", -1, ((0, "k"),), f"{REJECTED} due to 'k'", b"")
    found = replace(exchange(9, code, code, GOOD), broker_version=broker, direct=told, proxied=named)
    assert claimed_by(found) == ("the end of a text, before 3.5" if is_claimed else None)

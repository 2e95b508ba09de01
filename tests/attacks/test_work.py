"""No bytes make the loop work much longer than it took to receive them.

Bytecodes are counted, not milliseconds (`steps`). Each attack is as large as it takes to be seen, no larger.
"""

import gzip
import struct
import time
import zlib
from dataclasses import replace

import cramjam
import lz4.frame
import pytest
from isal import isal_zlib

from benchmarks.worst import replayed, stored
from tests.attacks.steps import A_BYTE, AT_ONCE, bytecodes
from tests.fastpath.conversations import RejectsOdd
from tests.full_only import variations
from tests.session.conversation import NOW_MS, PEER, Session, view_of
from tests.session.dialogues import frames_of
from tests.session.messages import (
    API_VERSIONS,
    FIND_COORDINATOR,
    METADATA,
    PRODUCE,
    SASL_AUTHENTICATE,
    accepted,
    answer,
    frame,
    produce,
    produced,
    request,
)
from tests.wire.batches import GZIP, LZ4, SNAPPY, XERIAL_HEADER, ZSTD, batch, record, unsigned
from tests.wire.blobs import BOMBS, EQUAL, gzip_of_empty_blocks, lz4_block, lz4_frame
from tests.wire.gzip_calls import noted
from tsproxy.model.custom_rule import CustomRule
from tsproxy.model.policy import Match, OnViolation, Policy, Rule, RuleSettings
from tsproxy.model.produce import PartitionProduceResponse, ProduceResponse, TopicProduceResponse
from tsproxy.session import fast_path
from tsproxy.session.effects import (
    CloseReason,
    CloseSession,
    Emit,
    Judge,
    Note,
    PauseClient,
    SendToBroker,
    SendToClient,
)
from tsproxy.session.job import MAX_OBJECTS
from tsproxy.session.policies import of_anybody
from tsproxy.session.produce.judge_request import judge_request
from tsproxy.session.produce_answer import settle, with_throttle
from tsproxy.session.slots import BookProduce
from tsproxy.wire import codecs, k00_produce, record_batch
from tsproxy.wire.headers import read_request_header, response_body_start, response_header
from tsproxy.wire.primitives import MAX_TAGS, MAX_TAGS_TOGETHER, DecodeError, Reader

DESCRIBE_CONFIGS = 32


def session(**view):
    return Session(PEER, view_of(**view), uses_fast_path=True)


def is_cheap(count, received):
    """`received` in bytes. A fixed part is left out: a small request costs more than its bytes."""
    return count <= AT_ONCE + A_BYTE * received


def ending(effects):
    return next((effect.reason for effect in effects if isinstance(effect, CloseSession)), None)


def tags(count):
    """A section of so many fields, all of them empty."""
    return unsigned(count) + b"\x00\x00" * count


def headed(api_key, version, section):
    """A request whose header has that section."""
    return frame(api_key.to_bytes(2) + version.to_bytes(2) + bytes(4) + b"\xff\xff" + section)


@pytest.mark.parametrize(
    ("api_key", "version"), [(PRODUCE, 9), (METADATA, 12), (API_VERSIONS, 3), (SASL_AUTHENTICATE, 2)]
)
def test_tagged_fields_of_a_header_are_not_walked_without_end(api_key, version):
    attack = headed(api_key, version, tags(200_000))
    effects, count = bytecodes(session().client_bytes, attack, NOW_MS)

    assert ending(effects) is CloseReason.BAD_FRAME
    assert count < 5_000


def test_as_many_tagged_fields_as_are_allowed_are_read():
    assert Reader(tags(MAX_TAGS)).tags(is_flexible=True) == tags(MAX_TAGS)
    with pytest.raises(DecodeError, match="101 tagged fields"):
        Reader(tags(MAX_TAGS + 1)).tags(is_flexible=True)


def test_many_small_sections_have_a_bound_together():
    reader = Reader(tags(MAX_TAGS) * 1_000)
    for _ in range(MAX_TAGS_TOGETHER // MAX_TAGS):
        reader.tags(is_flexible=True)
    with pytest.raises(DecodeError):
        reader.tags(is_flexible=True)


@pytest.mark.parametrize(
    ("api_key", "version", "body"),
    [
        (PRODUCE, 9, b"\x01" + bytes(4) + tags(30_000)),
        (
            FIND_COORDINATOR,
            4,
            bytes(4) + b"\x02\x02k" + b"\xff" * 4 + b"\x01" + bytes(6) + b"\x00" + tags(30_000),
        ),
    ],
)
def test_tagged_fields_of_a_brokers_answer_are_not_walked_without_end(api_key, version, body):
    one = session()
    asked = b"\x00\xff\xff" + bytes(4) + b"\x01\x00" if api_key == PRODUCE else b"\x00\x01\x00"
    one.client_bytes(request(api_key, version, asked), NOW_MS)
    effects, count = bytecodes(one.broker_bytes, answer(api_key, version, body), NOW_MS)

    assert ending(effects) is CloseReason.BAD_ANSWER
    assert count < 8_000


def test_a_request_for_the_configurations_of_very_much_is_not_walked_without_end():
    body = struct.pack(">i", 200_000) + b"\x02\x00\x00" + bytes(4) * 200_000
    attack = request(DESCRIBE_CONFIGS, 1, body)
    effects, count = bytecodes(session().client_bytes, attack, NOW_MS)

    assert ending(effects) is None
    assert is_cheap(count, len(attack))


def zstd_of_nothing(size):
    """Frames of one empty block each."""
    one = b"\x28\xb5\x2f\xfd\x00\x58" + b"\x01\x00\x00"
    return one * (size // len(one))


def zstd_of_empty_blocks(size):
    """One frame of many empty blocks."""
    return b"\x28\xb5\x2f\xfd\x00\x58" + b"\x00\x00\x00" * (size // 3) + b"\x01\x00\x00"


def gzip_of_nothing(size):
    one = gzip.compress(b"", mtime=0)
    return one * (size // len(one))


def snappy_of_single_bytes(size):
    one = bytes(cramjam.snappy.compress_raw(b"\x00"))
    return XERIAL_HEADER + (struct.pack(">i", len(one)) + one) * (size // (4 + len(one)))


def snappy_of_headers(size):
    return XERIAL_HEADER * (size // len(XERIAL_HEADER))


def lz4_of_single_bytes(size):
    begin = lz4.frame.LZ4FrameCompressor(block_linked=False).begin()
    return begin + struct.pack("<IB", 0x80000001, 0) * (size // 5) + bytes(4)


def lz4_of_single_bytes_with_a_checksum(size):
    begin = lz4.frame.LZ4FrameCompressor(block_linked=False, content_checksum=True).begin()
    return begin + struct.pack("<IB", 0x80000001, 0) * (size // 5) + bytes(8)


SHELLS = {
    zstd_of_nothing: ZSTD,
    zstd_of_empty_blocks: ZSTD,
    gzip_of_nothing: GZIP,
    snappy_of_single_bytes: SNAPPY,
    snappy_of_headers: SNAPPY,
    lz4_of_single_bytes: LZ4,
    lz4_of_single_bytes_with_a_checksum: LZ4,
}


@pytest.mark.parametrize("size", [20_000, 250_000])
@pytest.mark.parametrize("shells", SHELLS, ids=lambda shells: shells.__name__)
def test_compressed_shells_are_not_opened_one_by_one_on_the_loop(shells, size):
    """Below the size from which a batch is expensive anyway, they took 0.2 s a MiB."""
    attack = produce({"t": {0: batch([NOW_MS], SHELLS[shells], body=shells(size), records_count=1)}})
    _, count = bytecodes(session().client_bytes, attack, NOW_MS)

    assert count < 10_000 + A_BYTE * len(attack)


def learnt():
    """A session whose client has the fast path for topic t."""
    one = session()
    one.client_bytes(produce({"t": {0: batch([NOW_MS])}}), NOW_MS)
    one.broker_bytes(produced({"t": {0: accepted()}}), NOW_MS)
    return one


@pytest.mark.parametrize("count", [1_000, 60_000])
def test_gzip_of_blocks_of_nothing_is_not_decompressed_on_the_loop(monkeypatch, count):
    """One call of isal took 0.3 s for such a MiB, on the fast path and then in the session."""
    attack = produce({"t": {0: batch([NOW_MS], GZIP, body=gzip_of_empty_blocks(count), records_count=1)}})
    monkeypatch.setattr(isal_zlib, "decompressobj", None)
    monkeypatch.setattr(zlib, "decompressobj", None)
    one = learnt()

    assert one.fast_path.requests.forward_read(attack, NOW_MS) == 0
    assert [type(effect) for effect in one.client_bytes(attack, NOW_MS)] == [Judge, PauseClient]


@pytest.mark.parametrize("at_ms", [0, NOW_MS], ids=["rejected", "in range"])
@pytest.mark.parametrize("is_learnt", [True, False])
def test_a_byte_of_gzip_is_decompressed_once_on_the_loop(monkeypatch, is_learnt, at_ms):
    """The fast path read it twice, the session once, and once more for its culprits: 0.2 s a MiB."""
    body = gzip_of_empty_blocks(600, record(value=bytes(10_000)))
    asked = produce({"t": {0: batch([at_ms], GZIP, body=body, records_count=1)}})
    one = learnt() if is_learnt else session()
    calls = noted(monkeypatch, zlib)
    if not one.fast_path.requests.forward_read(asked, NOW_MS):
        assert (Judge in map(type, one.client_bytes(asked, NOW_MS))) == (at_ms == 0)
    assert [size for size, _ in calls] == [len(body)]


@pytest.mark.parametrize("is_refused", [True, False])
def test_of_one_read_128_kib_of_gzip_are_decompressed_on_the_loop(monkeypatch, is_refused):
    """zlib takes up to 0.055 us a byte. A new budget after each refused request came to 80 ms a MiB."""
    calls = noted(monkeypatch, zlib)
    body = gzip_of_empty_blocks(200, bytes(4_000) if is_refused else record(value=bytes(4_000)))
    attack = produce({"t": {0: batch([NOW_MS], GZIP, body=body, records_count=1)}}) * 80
    one = learnt()
    judge = next(each for each in one.client_bytes(attack, NOW_MS) if isinstance(each, Judge))
    assert 0 < sum(size for size, _ in calls) <= 131_072
    judged = judge.job()
    calls.clear()
    one.judged(judged, NOW_MS)
    assert bool(calls) != is_refused


@pytest.mark.parametrize("settings", [{}, {"on_violation": OnViolation.STAMP}], ids=["rejected", "stamped"])
def test_isal_decompresses_nothing_on_the_loop_that_a_verdict_needs(monkeypatch, settings):
    """It takes 0.36 us a byte for blocks of nothing, also when the culprits are searched."""
    body = gzip_of_empty_blocks(50, record(value=bytes(1_000)))
    bad = produce({"t": {0: batch([0], GZIP, body=body, records_count=1)}})
    monkeypatch.setattr(isal_zlib, "decompressobj", None)
    policy = Policy(rules=(Rule("all", Match(), RuleSettings(**settings)),))
    (effect, *_) = session(policy=policy).client_bytes(bad, NOW_MS)
    assert isinstance(effect, SendToBroker if settings else SendToClient)


def gzip_of_nothing_described(size):
    return gzip_of_empty_blocks(size // 16)


def cpu_ms(call, *arguments):
    began = time.thread_time_ns()
    call(*arguments)
    return (time.thread_time_ns() - began) / 1e6


@pytest.mark.parametrize("size", variations("four times as large", [250_000, 1_000_000], but=[250_000]))
@pytest.mark.parametrize("costly", [*SHELLS, gzip_of_nothing_described], ids=lambda costly: costly.__name__)
def test_compressed_data_takes_the_loop_no_more_than_50_ms_of_cpu_a_mib(costly, size):
    """On the fast path and in the session. `bytecodes` does not count the work of a library."""
    codec = SHELLS.get(costly, GZIP)
    attack = produce({"t": {0: batch([NOW_MS], codec, body=costly(size), records_count=1)}})

    def taken():
        one = learnt()
        return cpu_ms(one.fast_path.requests.forward_read, attack, NOW_MS) + cpu_ms(
            one.client_bytes, attack, NOW_MS
        )

    assert min(taken() for _ in range(3)) < 50 * len(attack) / (1 << 20)


UNUSUAL = {
    "two gzip members": (GZIP, gzip.compress(b"a") + gzip.compress(b"b")),
    "gzip of much": (GZIP, gzip.compress(bytes(2_000_000))),
    "two xerial streams": (SNAPPY, snappy_of_headers(32)),
    "lz4 whose match copies zeros that are not there": (LZ4, lz4_frame([(lz4_block((b"", 0, 8)), True)])),
    "two zstd frames": (ZSTD, zstd_of_nothing(20)),
    "damaged zstd": (ZSTD, b"\x28\xb5\x2f\xfd"),
}


@pytest.mark.parametrize("kind", UNUSUAL)
def test_data_that_is_not_decompressed_in_one_call_is_decompressed_beside_the_loop(monkeypatch, kind):
    """The long way counts what comes out. It may take 0.1 s a MiB to find that nothing does."""
    codec, body = UNUSUAL[kind]
    attack = produce({"t": {0: batch([NOW_MS], codec, body=body, records_count=1)}})
    one = learnt()
    with monkeypatch.context() as patched:
        patched.setattr(codecs, "stream", None)
        assert one.fast_path.requests.forward_read(attack, NOW_MS) == 0
        judge, pause = one.client_bytes(attack, NOW_MS)
    assert (type(judge), type(pause)) == (Judge, PauseClient)
    assert len(judge.job().verdict.rejected) == 1


@pytest.mark.parametrize("name", BOMBS)
def test_a_few_bytes_that_are_much_work_are_judged_beside_the_loop(name):
    """Sequences of zstd took 18 ms for a request of 200 bytes: on the fast path, and twice in the session."""
    codec, body = BOMBS[name]
    attack = produce({"t": {0: batch([NOW_MS], codec, body=body, records_count=EQUAL)}})
    one = learnt()

    assert one.fast_path.requests.forward_read(attack, NOW_MS) == 0
    assert [type(effect) for effect in one.client_bytes(attack, NOW_MS)] == [Judge, PauseClient]


def test_a_large_compressed_batch_is_not_copied_before_it_is_left_to_a_thread(monkeypatch):
    """One of 95 MiB took 56 ms."""
    given = []
    monkeypatch.setattr(fast_path, "read_small", lambda _, body, *__: given.append((type(body), len(body))))
    attack = produce({"t": {0: batch([NOW_MS], SNAPPY, body=bytes(2_000_000), records_count=1)}})
    assert learnt().fast_path.requests.forward_read(attack, NOW_MS) == 0
    assert given == [(memoryview, 2_000_000)]


def old_message(size):
    """A message of magic 1 that unfolds to `size` bytes, with a negative number where a batch of magic 2 has
    its count of records."""
    plain = gzip.compress(bytes(size), mtime=0)
    value = plain[:3] + b"\x08" + plain[4:10] + b"\xff" * 40 + b"\x00" + plain[10:]
    body = b"\x01\x01" + struct.pack(">qii", NOW_MS, -1, len(value)) + value
    return struct.pack(">qiI", 0, len(body) + 4, zlib.crc32(body)) + body


@pytest.mark.parametrize("version", [2, 3, 9])
@pytest.mark.parametrize("size", [100, 8_000_000])
def test_an_old_message_that_is_compressed_is_judged_beside_the_loop_at_any_version(version, size):
    """From v3 on it is rejected for its magic; until then nobody had asked what it holds. 300 bytes may hold
    thousands of messages, and Python looks at each."""
    attack = produce({"t": {0: old_message(size)}}, version)
    effects = session().client_bytes(attack, NOW_MS)

    assert len(attack) < 10_000
    assert {Judge, PauseClient} <= {type(effect) for effect in effects}


MAX_A_BYTE = 4
"""Bytecodes for each byte received, where CPython runs 84 million a second and a MiB may take 50 ms."""
MAX_AT_ONCE = 8_000_000
"""Bytecodes of one step: 100 ms."""
FOUND = {row["name"]: row for row in stored()}


@pytest.mark.parametrize("name", FOUND)
def test_the_worst_known_sessions_stay_within_50_ms_a_mib_and_100_ms_at_a_time(name):
    counts = []

    def feed(one, event):
        effects, count = bytecodes(one.feed, event, NOW_MS)
        counts.append(count)
        return effects

    replayed(FOUND[name], feed)
    assert max(counts) < MAX_AT_ONCE
    assert sum(counts) < MAX_A_BYTE * FOUND[name]["counts_as_bytes"]


MANY = 1_000
OF_EACH_KIND = {"null": None, "good": batch([NOW_MS]), "bad": batch([0])}


@pytest.mark.parametrize("kind", OF_EACH_KIND)
@pytest.mark.parametrize("is_one_topic", [True, False])
def test_many_partitions_are_judged_beside_the_loop(kind, is_one_topic):
    """On the loop remains what must be told and sent, some dozens of bytecodes for each."""
    indexes = range(MANY)
    records = OF_EACH_KIND[kind]
    topics = (
        {"t": dict.fromkeys(indexes, records)} if is_one_topic else {f"t{n}": {0: records} for n in indexes}
    )
    one = session(topics=list(topics))
    (judge, _), reading = bytecodes(one.client_bytes, produce(topics), NOW_MS)
    assert isinstance(judge, Judge)
    _, judged = bytecodes(one.judged, judge.job(), NOW_MS)

    assert reading < 900 * MANY
    assert judged < (200 if kind != "good" or not is_one_topic else 60) * MANY


@pytest.mark.parametrize(
    "topics", [{"t": dict.fromkeys(range(20_000))}, {f"t{n}": {} for n in range(20_000)}]
)
def test_a_request_of_very_many_partitions_for_its_size_is_read_beside_the_loop(topics):
    """Each is an object, for as few as six bytes: 20,000 of them took 33 to 133 ms."""
    attack = produce(topics)
    (judge, _), count = bytecodes(session().client_bytes, attack, NOW_MS)

    assert isinstance(judge, Judge)
    assert count < 10_000 + 20 * len(attack)


def test_a_request_that_is_read_beside_the_loop_and_is_none_closes_the_connection():
    """Nothing of it is forwarded, answered or booked."""
    one = session()
    twice = produce({"t": dict.fromkeys(range(1_000))})
    twice = twice.replace(struct.pack(">i", 999), struct.pack(">i", 998))
    (judge, _) = one.client_bytes(twice, NOW_MS)
    effects = one.judged(judge.job(), NOW_MS)

    assert [type(each) for each in effects if not isinstance(each, Note)] == [CloseSession]
    assert effects[-1].reason is CloseReason.BAD_FRAME
    assert "names t-998 twice" in effects[-1].text


def judgement_on(body, version):
    """The judgement on a request with these batches, by topic and partition."""
    whole = produce(body, version)
    header = read_request_header(whole[4:])
    names = view_of().topic_names
    asked = k00_produce.read_request(version, whole[4 + header.body_start :], names=names)
    return judge_request(header, asked, whole, of_anybody(view_of()), NOW_MS)


@pytest.mark.parametrize("version", range(14))
@pytest.mark.parametrize("mute_ms", [0, 1, 70_000])
def test_a_throttle_time_is_added_to_an_answer_that_is_written_already(version, mute_ms):
    answered = judgement_on({"t": {0: batch([0]), 1: None}, "u": {5: batch([0])}}, version).answer
    start = 4 + response_body_start(PRODUCE, version, answered[4:])
    read = k00_produce.read_response(version, answered[start:])
    throttled = k00_produce.write_response(version, replace(read, throttle_time_ms=mute_ms))

    assert [len(topic.partitions) for topic in read.topics] == [2, 1]
    assert with_throttle(answered, version, mute_ms) == frame(answered[4:start] + throttled)


@pytest.mark.parametrize("version", range(3, 14))
def test_rejections_are_written_where_a_request_is_judged_and_only_merged_when_the_broker_answers(version):
    """Three thousand texts would take the loop 10 ms when the broker answers, for an answer of 50 bytes."""
    marked = batch([NOW_MS] * 3_000, attributes=0x08)
    judgement = judgement_on({"t": {0: batch([NOW_MS]), 1: marked, 2: batch([0])}}, version)
    slot = BookProduce.holding(judgement.verdict, judgement.rejected_topics)
    topic_id = judgement.verdict.forwarded[0].topic_id
    stored = TopicProduceResponse("t", (PartitionProduceResponse(0),), topic_id=topic_id)
    body = k00_produce.write_response(version, ProduceResponse((stored,)))
    payload = response_header(PRODUCE, version, slot.correlation_id) + body
    (answered, _), count = bytecodes(settle, slot, payload, None, lambda _: False)
    start = 4 + response_body_start(PRODUCE, version, answered[4:])
    (topic,) = k00_produce.read_response(version, answered[start:]).topics

    assert [(p.index, p.error_code) for p in topic.partitions] == [(0, 0), (1, 32), (2, 32)]
    assert [p.error_count for p in topic.partitions] == ([0, 3_000, 1] if version >= 8 else [0, 0, 0])
    assert (answered.count(b"Timestamp 0 of") > 0) == (version >= 8)
    assert slot.held_bytes > (3_000 * 20 if version >= 8 else -1)  # the texts count until the broker answers
    assert count < 6_000


def test_requests_that_are_rejected_one_by_one_are_judged_beside_the_loop_once_they_are_many():
    """A go is what one read brings: 256 KiB of requests of a hundred bytes took 0.2 s. The fast path does not
    repeat rejections of compressed batches."""
    bad = batch([0], GZIP)
    frames = [produce({"t": {n: bad}}, correlation_id=n) for n in range(2_000)]
    effects, count = bytecodes(session().client_bytes, b"".join(frames), NOW_MS)

    assert Judge in [type(effect) for effect in effects]
    assert count < 15 * AT_ONCE


def test_rejections_of_one_kind_are_repeated_within_one_read():
    """A thousand in one read took the loop 85 ms, since the fast path repeated them from the next read on."""
    bad = batch([0])
    frames = [produce({"t": {n: bad}}, correlation_id=n) for n in range(900)]
    quick = Session(PEER, view_of(), uses_fast_path=True)
    effects, count = bytecodes(quick.client_bytes, b"".join(frames), NOW_MS)

    [answers, *_] = effects
    assert [int.from_bytes(each[4:8], "big") for each in frames_of(answers.data)[0]] == list(range(900))
    assert sum(isinstance(effect, Emit) for effect in effects) == 1
    assert sum(totals.batches for totals in quick.drain_totals()) == 899
    assert count < 900 * 1_000


ODD = CustomRule("odd", RejectsOdd())
EACH_AN_OBJECT = {
    "marked as the broker's time": ({"attributes": 0x08}, {}),
    "of a custom rule": (
        {},
        {"policy": Policy(rules=(Rule("own", Match(), RuleSettings(custom_rules=(ODD,))),))},
    ),
}


@pytest.mark.parametrize("kind", EACH_AN_OBJECT)
def test_records_that_become_objects_are_judged_beside_the_loop_once_they_are_many(kind):
    """Each costs 5 us, for as few as eight bytes: 6,000 of them took 38 ms, which is 1 s for a MiB."""
    header, facts = EACH_AN_OBJECT[kind]
    attack = produce({"t": {n: batch([NOW_MS] * 3_000, value=b"", **header) for n in range(2)}})
    effects, count = bytecodes(session(**facts).client_bytes, attack, NOW_MS)

    assert [type(effect) for effect in effects] == [Judge, PauseClient]
    assert is_cheap(count, len(attack))


def test_few_records_that_become_objects_are_judged_on_the_loop():
    few = produce({"t": {0: batch([NOW_MS] * (MAX_OBJECTS - 3), attributes=0x08)}})
    assert Judge not in map(type, session().client_bytes(few, NOW_MS))


class Called:
    """A custom rule that accepts all, and remembers how many records it was asked about."""

    def __init__(self):
        self.records = []

    def culprits(self, timestamps_ms, context):
        self.records.append(len(timestamps_ms))
        return ()


@pytest.mark.parametrize("size", [1, 3, 1_000])
@pytest.mark.parametrize("is_one_request", [True, False])
def test_a_custom_rule_is_called_on_the_loop_for_a_dozen_records_of_one_read(is_one_request, size):
    """The loop of all clients waits for each call, whoever sends the batches, and in how many requests."""
    rule, data = Called(), batch([NOW_MS] * size)
    own = Rule("own", Match(), RuleSettings(custom_rules=(CustomRule("called", rule),)))
    sent = [{n: data} for n in range(30)] if not is_one_request else [dict.fromkeys(range(30), data)]
    asked = b"".join(produce({"t": each}, correlation_id=n) for n, each in enumerate(sent))
    effects = session(policy=Policy(rules=(own,))).client_bytes(asked, NOW_MS)
    assert Judge in map(type, effects)
    assert sum(rule.records) <= MAX_OBJECTS
    assert size > 1 or sum(rule.records) == MAX_OBJECTS


def test_records_of_the_brokers_timestamp_type_are_not_read_before_a_thread_judges_them():
    """Each is rejected with a text, so the loop would read the batch in vain, and a thread again."""
    attack = produce({"t": {0: batch([NOW_MS] * 3_000, value=b"", attributes=0x08)}})
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(record_batch, "read_facts", None)
        effects = session().client_bytes(attack, NOW_MS)
    assert [type(effect) for effect in effects] == [Judge, PauseClient]


def test_the_versions_that_a_broker_tells_each_client_are_read_once():
    """A request of 30 bytes cost the event loop 380 us: before a login, from anybody."""
    offers = b"".join(struct.pack(">hhh", key, 0, 9) + b"\x00" for key in range(93))
    body = b"\x00\x00" + unsigned(94) + offers + bytes(5)

    def asked():
        one = session()
        one.client_bytes(request(API_VERSIONS, 3, b"\x02a\x021\x00"), NOW_MS)
        return bytecodes(one.broker_bytes, answer(API_VERSIONS, 3, body), NOW_MS)

    first, _ = asked()
    again, count = asked()
    assert again == first
    assert count < 3_000

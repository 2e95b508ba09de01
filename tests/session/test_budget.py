"""One request has a budget over all its partitions, and a judge that nobody waits for any more stops. The
possible cost of a request decides where it is judged. A bomb costs little."""

import gzip
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import lz4.frame
import pytest
import zstandard
from isal import isal_zlib

from rigs.differential.message_sets import Message, write_message
from tests.fastpath.conversations import RejectsOdd
from tests.policy.verdicts import judged_by
from tests.session.conversation import HOUR_MS, LIMITS, NOW_MS, view_by
from tests.session.messages import produce
from tests.wire.batches import (
    CODECS,
    GZIP,
    LZ4,
    NONE,
    SNAPPY,
    XERIAL_HEADER,
    ZSTD,
    batch,
    raw_snappy,
    record,
    unsigned,
)
from tests.wire.blobs import gzip_of_empty_blocks
from tests.wire.gzip_calls import noted
from tsproxy.model.custom_rule import CustomRule
from tsproxy.model.kafka import ErrorCode
from tsproxy.model.policy import Match, Mode, Policy, Rule, RuleSettings
from tsproxy.model.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from tsproxy.model.records import Fault, RecordFacts
from tsproxy.model.verdict import Accept, TopicLimits
from tsproxy.model.view import SessionLimits, View
from tsproxy.session.job import (
    A_STEP,
    AN_ODD_BATCH,
    BYTES_A_RECORD,
    StoppedError,
    TooDearError,
    Work,
    all_steps,
)
from tsproxy.session.policies import of_anybody
from tsproxy.session.produce import bare_messages, cost
from tsproxy.session.produce.judge_partitions import judge_steps
from tsproxy.wire import codecs, k00_produce, record_set
from tsproxy.wire.headers import RequestHeader
from tsproxy.wire.record_batch import SHELLS
from tsproxy.wire.record_set import MAGIC_OFFSET

HEADER = RequestHeader(0, 9, 1, None, 0)
UNLIMITED = TopicLimits()
MIB = 1 << 20


def request_of(*records):
    """A request with these records in its partitions."""
    partitions = tuple(PartitionProduceData(n, data and memoryview(data)) for n, data in enumerate(records))
    return ProduceRequest(None, -1, 1000, (TopicProduceData("t", partitions),))


def judged(*records, limits=LIMITS, **bounds):
    view = View(topics={"t": limits}, limits=SessionLimits(**bounds))
    return [one.verdict for one in judged_by(view, *records)]


def of(count, codec=ZSTD, size=0, at_ms=NOW_MS):
    records = [record(0, n, value=bytes(size)) for n in range(count)]
    return batch([at_ms], codec, records=records)


def passed(verdicts):
    return [isinstance(each, Accept) for each in verdicts]


def test_batches_beyond_the_records_of_one_request_are_rejected_by_name():
    """Finding 3: 20,000 partitions of a million records each took a judge up to 17 hours."""
    verdicts = judged(of(10), of(10), of(11), of(1), records_per_request=30)
    assert passed(verdicts) == [True, True, False, False]
    assert "limits.records_per_request" in verdicts[2].error_message
    assert verdicts[3].error_message == verdicts[2].error_message
    assert passed(judged(of(10), of(10), of(10), records_per_request=30)) == [True] * 3


@pytest.mark.parametrize("codec", [GZIP, SNAPPY, LZ4, ZSTD])
def test_batches_beyond_the_bytes_of_one_request_are_rejected_by_name(codec):
    one = of(1, codec, size=1000)
    verdicts = judged(one, one, one, one, of(1, 0), decompressed_request=2500)
    assert passed(verdicts) == [True, True, False, False, True], "an uncompressed batch unfolds to nothing"
    assert "limits.decompressed_request" in verdicts[2].error_message


def test_a_request_whose_times_are_not_limited_goes_on_as_a_batch_beyond_its_bound_does():
    assert passed(judged(of(10), of(10), limits=UNLIMITED, records_per_request=10)) == [True, True]
    assert passed(judged(of(10), limits=UNLIMITED, records_per_batch=9)) == [True]


def test_once_the_budget_is_gone_nothing_more_is_decompressed(monkeypatch):
    begun = []
    monkeypatch.setattr(codecs, "_snappy_block", lambda block, _: begun.append(1) or [bytes(1000)])
    judged(*[of(1, SNAPPY, size=100_000)] * 50, decompressed_request=2000)
    assert len(begun) <= 5


def test_rejected_batches_cost_no_more_than_a_few_times_the_budget():
    """A batch that is judged twice, to name the records at fault, was within the budget before."""
    work = Work(SessionLimits(records_per_request=1000))
    culprits = [of(100, at_ms=NOW_MS + 2 * HOUR_MS)] * 500
    view = View(topics={"t": LIMITS}, limits=SessionLimits(records_per_request=1000))
    for _ in judge_steps(HEADER, request_of(*culprits), of_anybody(view), NOW_MS, work):
        pass
    assert work.done < 3 * 1000 + 500 * 3 * 20


def steps_of(work, *records):
    view = View(topics={"t": LIMITS})
    return judge_steps(HEADER, request_of(*records), of_anybody(view), NOW_MS, work)


def test_a_judge_that_is_stopped_ends_before_the_next_partition():
    work = Work(SessionLimits())
    steps = steps_of(work, *[of(1)] * 100)
    for _ in range(3):
        next(steps)
    work.stop()
    with pytest.raises(StoppedError):
        next(steps)


def test_a_judge_that_is_stopped_ends_between_two_pieces_of_decompression(monkeypatch):
    work, pieces = Work(SessionLimits()), []

    def stream(*_, **__):
        for _ in range(100):
            pieces.append(1)
            work.stop()
            yield bytes(MIB)

    monkeypatch.setattr(codecs, "stream", stream)
    with pytest.raises(StoppedError):
        next(steps_of(work, of(1, size=2 * MIB)))
    assert len(pieces) == 1


def gzip_of_nothing(size):
    """It kept a judge for 0.36 s a MB, without a look at whether anybody still waited."""
    return batch([NOW_MS], GZIP, body=gzip_of_empty_blocks(size // 16), records_count=1)


def test_a_judge_that_is_stopped_ends_behind_a_slice_of_gzip_that_gives_nothing(monkeypatch):
    work = Work(SessionLimits())
    calls = noted(monkeypatch, isal_zlib, work.stop)
    with pytest.raises(StoppedError):
        next(steps_of(work, gzip_of_nothing(200_000)))
    assert [size for size, _ in calls] == [codecs.GZIP_SLICE]


def test_compressed_bytes_are_work_whatever_they_give():
    work, asked = Work(SessionLimits()), gzip_of_nothing(200_000)
    for _ in steps_of(work, asked):
        pass
    assert work.done >= len(asked) // BYTES_A_RECORD


# -- The account of one request ----------------------------------------------------------------------


def facts(records, fault=None):
    return RecordFacts(records, None, None, 0, fault)


def unread(limits):
    raise AssertionError("nothing is read any more")


def test_all_work_is_counted():
    work, done = Work(SessionLimits()), 0
    work.within(SessionLimits(), lambda _: facts(7), is_compressed=False)
    assert work.done == (done := done + 7)
    for charge in (work.charge, work.charge_again):
        charge(10 * BYTES_A_RECORD)
        assert work.done == (done := done + 10)
        charge(SHELLS)
        assert work.done == (done := done + A_STEP)
    work.take_odd()
    assert work.done == done + AN_ODD_BATCH


def test_a_budget_of_records_that_is_used_up_reads_no_batch():
    limits = SessionLimits(records_per_request=10)
    work = Work(limits)
    assert work.within(limits, lambda _: facts(10), is_compressed=False).fault is None
    assert work.is_spent
    assert work.within(limits, unread, is_compressed=False).fault is Fault.REQUEST_OF_TOO_MANY_RECORDS


def test_a_budget_of_bytes_that_is_used_up_reads_no_compressed_batch():
    limits = SessionLimits(decompressed_request=10 * BYTES_A_RECORD)
    work = Work(limits)
    work.charge(10 * BYTES_A_RECORD - 1)
    assert work.within(limits, lambda _: facts(1), is_compressed=True).fault is None
    work.charge(1)
    assert work.within(limits, unread, is_compressed=True).fault is Fault.REQUEST_TOO_LARGE
    assert work.within(limits, lambda _: facts(1), is_compressed=False).fault is None


@pytest.mark.parametrize(
    ("bounds", "fault"),
    [
        ({"records_per_request": 10}, Fault.DECOMPRESSED_TOO_LARGE),
        ({"decompressed_request": 10}, Fault.TOO_MANY_RECORDS),
    ],
)
def test_a_batch_beyond_its_own_bound_takes_nothing_from_those_behind_it(bounds, fault):
    """Only the other of the two bounds was lowered to what the request has left."""
    limits = SessionLimits(**bounds)
    work = Work(limits)
    assert work.within(limits, lambda _: facts(0, fault), is_compressed=True).fault is fault
    assert work.within(limits, lambda _: facts(1), is_compressed=True).fault is None


# -- Sets of old messages ----------------------------------------------------------------------------


def odd_messages(count):
    """Messages of magic 1 with a bit that brokers do not expect of a client: each is judged by itself."""
    return old_message(0x08) * count


def old_message(attributes=0, value=b"v"):
    return write_message(Message(1, NOW_MS, None, value, attributes))


OLD_SETS = {
    "with a bit of the broker": odd_messages(3_000),
    "compressed": old_message(0x01, gzip.compress(old_message(), mtime=0)) * 3_000,
    "of both kinds": (old_message() + batch([NOW_MS])) * 1_500,
    "of magic 2": batch([NOW_MS]) * 3_000,
}


@pytest.mark.parametrize("kind", OLD_SETS)
@pytest.mark.parametrize("limits", [LIMITS, UNLIMITED], ids=["limited", "unlimited"])
def test_odd_messages_are_looked_at_within_the_budget_and_all_are_counted(kind, limits, monkeypatch):
    """Each look takes some 30 us in Python. 100 MiB of them kept a judge for half a minute and more."""
    looks = []
    batch_at = record_set.batch_at
    monkeypatch.setattr(record_set, "batch_at", lambda *at: looks.append(1) or batch_at(*at))
    budget = SessionLimits(records_per_request=100 * AN_ODD_BATCH)
    view = View(topics={"t": limits}, limits=budget)
    [one] = judged_by(view, OLD_SETS[kind], version=2)

    assert len(looks) < 220
    assert one.batch.records == 3_000


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
def test_no_number_of_records_is_booked_that_only_a_header_states(codec):
    """The first batch is read, and the last one is only counted."""
    liar = batch([NOW_MS], codec, records_count=2**31 - 1, last_offset_delta=2**31 - 2)
    budget = SessionLimits(records_per_request=2 * AN_ODD_BATCH)
    view = View(topics={"t": UNLIMITED}, limits=budget)
    [one] = judged_by(view, (old_message() + liar) * 100, version=2)

    assert one.batch.records <= 2 * 100
    assert judged_by(view, liar)[0].batch.records == 0


def test_no_number_of_records_that_only_a_header_states_counts_as_work():
    """Work that is done allows more time."""
    work = Work(SessionLimits())
    policies = of_anybody(view_by("rule", limits=UNLIMITED, keep_both_times=True))
    request = request_of(batch([NOW_MS], records_count=2**31 - 1))
    for _ in judge_steps(HEADER, request, policies, NOW_MS, work):
        pass
    assert work.done < 100


def test_a_judge_that_counts_the_rest_of_an_old_set_stops(monkeypatch):
    limits = SessionLimits(records_per_request=AN_ODD_BATCH)
    work, counted = Work(limits), []
    count_records = record_set.count_records

    def counts(*rest):
        counted.append(1)
        work.stop()
        return count_records(*rest)

    monkeypatch.setattr(record_set, "count_records", counts)
    monkeypatch.setattr(bare_messages, "_COUNTED_AT_ONCE", 10)
    view = View(topics={"t": UNLIMITED}, limits=limits)
    request = request_of(odd_messages(1_000))
    with pytest.raises(StoppedError):
        for _ in judge_steps(replace(HEADER, api_version=2), request, of_anybody(view), NOW_MS, work):
            pass
    assert len(counted) == 1


def test_bare_messages_that_only_python_can_judge_are_not_rejected_for_their_number():
    """Old clients send 10,000 messages in a partition, and rules of an operator's own read each."""
    limits = SessionLimits(records_per_request=1_000_000)  # a twentieth of the default
    settings = RuleSettings(custom_rules=(CustomRule("odd", RejectsOdd()),))
    policy = Policy(rules=(Rule("own", Match(), settings),))
    view = View(topics={"t": LIMITS}, limits=limits, policy=policy)
    [one] = judged_by(view, old_message() * 2_000, version=2)

    assert isinstance(one.verdict, Accept)
    assert one.batch.records == 2_000


# -- Where a request is judged ------------------------------------------------------------------------


PACKED, PLAIN = batch([NOW_MS], GZIP), batch([NOW_MS], NONE)


def header(version):
    return RequestHeader(0, version, 1, "app", 0)


def long(records, size):
    """The first batch stays as it is."""
    return records + bytes(size - len(records))


COSTS = {
    "by the counts that batches state": (9, [batch([NOW_MS]), batch([NOW_MS] * 3)], 2 * 20 + 4),
    "null records cost their partition": (9, [None], 20),
    "no less than nothing": (9, [batch([NOW_MS], records_count=-5), batch([NOW_MS] * 2)], 2 * 20 + 2),
    "by size below v3": (2, [bytes(100)], 20 + 30 * 100),
    "by size where a message of old magic stands": (9, [bytes(MAGIC_OFFSET) + b"\x01"], 20 + 30 * 17),
    "marked as the broker's time": (9, [batch([NOW_MS] * 3, attributes=8)], 20 + 3 * cost.A_MARKED_RECORD),
    "magic 2 is not old": (9, [bytes(MAGIC_OFFSET) + b"\x02"], 20),
    "no magic": (9, [bytes(MAGIC_OFFSET)], 20),
}


@pytest.mark.parametrize(("version", "sets", "most"), COSTS.values(), ids=COSTS)
def test_so_many_records_a_request_may_cost(version, sets, most):
    assert cost.records_at_most(header(version), request_of(*sets)) == most


HALF = cost.OFFLOAD_BYTES // 2
OFFLOADED = {
    "just enough": (3, [long(PACKED, 2 * HALF)], True),
    "one byte less": (3, [long(PACKED, 2 * HALF - 1)], False),
    "in several partitions": (3, [long(PACKED, HALF), None, long(PACKED, HALF)], True),
    "half of it is not compressed": (3, [long(PACKED, HALF), long(PLAIN, HALF)], False),
    "nothing is compressed": (3, [long(PLAIN, 2 * HALF)], False),
    "below v3 a later batch may be": (2, [long(PLAIN, 2 * HALF)], True),
    "there is no batch": (3, [bytes(2 * HALF)], False),
}


@pytest.mark.parametrize(("version", "sets", "is_offloaded"), OFFLOADED.values(), ids=OFFLOADED)
def test_a_thread_judges_where_much_may_have_to_be_decompressed(version, sets, is_offloaded):
    assert cost.must_offload(header(version), request_of(*sets)) is is_offloaded


@pytest.mark.parametrize(
    ("size", "most"), [(0, 16), (63, 16), (64, 17), (64 * 1984, 2_000), (1 << 20, 2_000)]
)
def test_so_many_partitions_are_read_on_the_loop(size, most):
    assert cost.most_partitions_here(size) == most


def test_partitions_beyond_a_few_are_counted_while_they_are_judged():
    assert cost.kept_while_judged(100, 16) == 100
    assert cost.kept_while_judged(100, 18) == 100 + 2 * (5 << 10)


def test_a_request_that_nobody_has_read_counts_as_many_partitions_as_fit_into_it():
    assert cost.kept_while_judged(6_000, None) == cost.kept_while_judged(
        6_000, 6_000 // k00_produce.SMALLEST_PARTITION
    )
    huge = 100 << 20
    assert cost.kept_while_judged(huge, None) == cost.kept_while_judged(huge, k00_produce.MAX_PARTITIONS)


# -- Bombs --------------------------------------------------------------------------------------------


UNFOLDED_MIB = 320  # `limits.decompressed_batch` is 256 MiB
ZEROS = bytes(MIB)


def one_stream(compressor):
    return b"".join(compressor.compress(ZEROS) for _ in range(UNFOLDED_MIB)) + compressor.flush()


def lz4_frame():
    compressor = lz4.frame.LZ4FrameCompressor(block_linked=False)
    return compressor.begin() + one_stream(compressor)


def xerial_blocks():
    block = raw_snappy(ZEROS)
    return XERIAL_HEADER + (len(block).to_bytes(4, "big") + block) * UNFOLDED_MIB


BOMBS = {
    "gzip": (GZIP, lambda: one_stream(isal_zlib.compressobj(1, wbits=31))),
    "gzip, many members": (GZIP, lambda: isal_zlib.compress(ZEROS, 1, 31) * UNFOLDED_MIB),
    "xerial": (SNAPPY, xerial_blocks),
    "raw snappy": (SNAPPY, lambda: unsigned(UNFOLDED_MIB * MIB) + raw_snappy(ZEROS)[3:]),
    "lz4": (LZ4, lz4_frame),
    "zstd": (ZSTD, lambda: one_stream(zstandard.ZstdCompressor().compressobj())),
    "zstd in one frame of known size": (
        ZSTD,
        lambda: one_stream(zstandard.ZstdCompressor().compressobj(size=UNFOLDED_MIB * MIB)),
    ),
}

JUDGE = """
import os, re, sys
from pathlib import Path
from tsproxy.model.verdict import TopicLimits
from tsproxy.model.view import View
from tsproxy.session.produce.judge_partitions import judge_all
from tsproxy.wire.headers import read_request_header
from tsproxy.wire.k00_produce import read_request

def most_resident_kib():
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])

while size := sys.stdin.buffer.read(4):
    asked = memoryview(sys.stdin.buffer.read(int.from_bytes(size, "big")))
    if os.fork():
        os.wait()
        continue
    header = read_request_header(asked)
    request = read_request(header.api_version, asked[header.body_start:])
    view = View(topics={"t": TopicLimits(after_max_ms=0, max_message_bytes=1 << 30)})
    before = most_resident_kib()
    (judged,) = judge_all(header, request, view, 0)
    grown_mib, verdict = (most_resident_kib() - before) // 1024, judged.verdict
    print(grown_mib, verdict.error_code, len(verdict.record_errors), verdict.error_message, flush=True)
    os._exit(0)
"""
"""A process for each request: the codecs' memory is not Python's, and only its highest mark is told."""


@pytest.fixture(scope="module")
def told():
    """The line that is said of each bomb."""
    bombs = (batch(codec=codec, body=bomb(), records_count=1) for codec, bomb in BOMBS.values())
    asked = b"".join(produce({"t": {0: each}}) for each in bombs)
    judged = subprocess.run([sys.executable, "-c", JUDGE], input=asked, capture_output=True, check=True)
    return dict(zip(BOMBS, judged.stdout.decode().splitlines(), strict=True))


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="only Linux tells a process's peak memory")
@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_rejected_by_name_and_costs_little(told, name):
    grown_mib, code, errors, text = told[name].split(" ", 3)
    assert int(grown_mib) <= 16
    assert (code, errors) == ("87", "0")
    assert "limits.decompressed_batch" in text


# -- The CPU time of one request ----------------------------------------------------------------------


class SpentUs:
    """The CPU time of a thread, in us. Each look at it, and each batch that the rule gets, adds to it."""

    def __init__(self, a_look=0, a_batch=0):
        self.now, self.a_look, self.a_batch = 0, a_look, a_batch

    def __call__(self):
        self.now += self.a_look
        return self.now

    def culprits(self, times_ms, _):
        self.now += self.a_batch
        return ()


def judged_in(spent, *records, **settings):
    rule = Rule("own", Match(), RuleSettings(**{"custom_rules": (CustomRule("slow", spent),), **settings}))
    bounds = SessionLimits(judging_time_ms=1_000)
    view = View(topics={"t": LIMITS}, limits=bounds, policy=Policy(rules=(rule,)))
    work = Work(bounds)
    work.begin_turn(spent)
    found = all_steps(judge_steps(HEADER, request_of(*records), of_anybody(view), NOW_MS, work))
    return [one.verdict for one in found], [one.batch.records for one in found]


@pytest.mark.parametrize("codec", [NONE, GZIP, ZSTD])
def test_batches_are_rejected_by_name_once_their_request_took_too_long(codec):
    """A batch that is judged keeps its verdict. No charge has counted the time of the rule."""
    found, _ = judged_in(SpentUs(a_batch=600_000), *[of(1, codec)] * 4)
    assert passed(found) == [True, True, False, False]
    assert "limits.judging_time" in found[2].error_message
    assert found[2].error_code == ErrorCode.INVALID_RECORD


def test_nothing_more_is_read_once_a_request_took_too_long():
    _, read = judged_in(SpentUs(a_look=100_000), *[of(1)] * 50, custom_rules=())
    assert 0 < sum(read) < 10


@pytest.mark.parametrize("settings", [{"mode": Mode.AUDIT}, {"mode": Mode.OFF}])
def test_where_nothing_is_rejected_nothing_is_too_dear(settings):
    found, _ = judged_in(SpentUs(a_look=900_000), *[of(1)] * 4, **settings)
    assert passed(found) == [True] * 4


def test_a_slow_machine_has_ten_times_the_estimate():
    spent, work = SpentUs(), Work(SessionLimits(judging_time_ms=1))
    for _ in range(2):  # each in another thread
        work.begin_turn(spent)
        spent.now += 50_000
        work.look(5_000)
        work.end_turn()
        spent.now += 10**9  # the thread's own, with other requests
    work.begin_turn(spent)
    spent.now += 101
    with pytest.raises(TooDearError):
        work.look(10)

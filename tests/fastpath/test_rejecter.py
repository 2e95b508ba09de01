"""Rejections that the fast path repeats: the answers, and which requests are left to the session."""

from dataclasses import replace
from importlib import import_module

import pytest

from tests.fastpath.test_filters import PEER_APP, Filters
from tests.session.conversation import DAY_MS, HOUR_MS, LIMITS, NOW_MS, PEER, Session, id_of, view_of
from tests.session.messages import HEARTBEAT, produce, request
from tests.wire.batches import GZIP, batch
from tsproxy import fastpath
from tsproxy.decisions.totals import key_of
from tsproxy.fastpath import Rejection
from tsproxy.model.kafka import LONG_MAX, LONG_MIN, ErrorCode
from tsproxy.model.outcome import VerdictName
from tsproxy.model.policy import Mode
from tsproxy.model.verdict import Reason
from tsproxy.policy import timestamps
from tsproxy.session.effects import SendToClient

AHEAD_MS, OLD_MS = NOW_MS + 2 * HOUR_MS, NOW_MS - 2 * DAY_MS
AHEAD = batch([AHEAD_MS] * 3)
TOO_FAR_AHEAD = Rejection(
    topic="t",
    limits=LIMITS,
    lowest_ms=NOW_MS + 1,
    highest_ms=AHEAD_MS + HOUR_MS,
    from_ms=NOW_MS,
    until_ms=NOW_MS + 1000,
    key=key_of(
        PEER,
        "t",
        VerdictName.REJECTED,
        reason=Reason.TOO_FAR_AHEAD,
        error_code=32,
        rule="topic-limits",
        mode=Mode.ENFORCE,
    ),
    error_message=timestamps.REJECTED,
    culprits_listed=100,
)


class Rejecting(Filters):
    """Rejects batches of topic t that are too far ahead."""

    def __init__(self, throttle=None, **changes):
        super().__init__()
        names_ids = changes.get("topic_id") is not None
        self.table = fastpath.Table(PEER_APP, None, 1000, None, throttle, names_ids)
        self.requests.table, self.requests.is_open, self.requests.most_in_flight = self.table, True, 1000
        self.rejecter = fastpath.Rejecter(self.requests)
        self.table.repeat(replace(TOO_FAR_AHEAD, **changes))

    def rejects(self, *frames, now_ms=NOW_MS):
        """How many bytes of the frames are rejected."""
        return self.rejecter.reject(b"".join(frames), now_ms)[0]


@pytest.mark.parametrize("version", range(3, 14))
@pytest.mark.parametrize("times", [[AHEAD_MS] * 3, [NOW_MS, AHEAD_MS, -1, AHEAD_MS + 5]], ids=["all", "some"])
def test_the_answer_is_the_one_that_the_session_gives(version, times):
    asked = produce({"t": {4: batch(times), 1: batch(times * 2)}}, version=version)
    (answer, *_) = Session(PEER, view_of()).client_bytes(asked, NOW_MS)
    rejecting = Rejecting(topic_id=id_of("t") if version >= 13 else None)
    assert rejecting.rejecter.reject(asked, NOW_MS) == (len(asked), answer.data, 0)
    assert isinstance(answer, SendToClient)


def test_each_batch_is_counted_with_its_culprits():
    rejecting = Rejecting()
    asked = [
        produce({"t": {0: batch([NOW_MS, AHEAD_MS, AHEAD_MS + n])}}, correlation_id=n) for n in range(1, 4)
    ]
    assert rejecting.rejects(*asked) == sum(map(len, asked))
    (totals,) = rejecting.table.drain()
    assert (totals.batches, totals.records, totals.requests) == (3, 9, 3)
    assert (totals.bad_records, totals.culprit_ms) == (6, AHEAD_MS)
    assert (totals.drift_min_ms, totals.drift_max_ms) == (2 * HOUR_MS, 2 * HOUR_MS + 3)
    assert rejecting.table.drain() == []
    assert (rejecting.in_flight.answered, len(rejecting.in_flight)) == (3, 0)


LEFT_TO_THE_SESSION = {
    "a batch that is right": produce({"t": {0: batch([NOW_MS])}}),
    "one right, one wrong": produce({"t": {0: AHEAD, 1: batch([NOW_MS])}}),
    "another topic": produce({"u": {0: AHEAD}}),
    "another topic, too": produce({"t": {0: AHEAD}, "u": {0: AHEAD}}),
    "no partition": produce({"t": {}}),
    "null records": produce({"t": {0: None}}),
    "on the other side": produce({"t": {0: batch([OLD_MS])}}),
    "the first culprit elsewhere": produce({"t": {0: batch([AHEAD_MS + HOUR_MS + 1])}}),
    "another culprit elsewhere": produce({"t": {0: batch([AHEAD_MS, AHEAD_MS + HOUR_MS + 1])}}),
    "another culprit on the other side": produce({"t": {0: batch([AHEAD_MS, OLD_MS])}}),
    "times below what longs can tell": produce({"t": {0: batch([AHEAD_MS, LONG_MIN + NOW_MS])}}),
    "acks=0": produce({"t": {0: AHEAD}}, acks=0),
    "version 2": produce({"t": {0: AHEAD}}, version=2),
    "another client": produce({"t": {0: AHEAD}}, client_id="other"),
    "a transactional id": produce({"t": {0: AHEAD}}, transactional_id="tx"),
    "compressed": produce({"t": {0: batch([AHEAD_MS], GZIP)}}),
    "bit 3": produce({"t": {0: batch([AHEAD_MS], attributes=0x08)}}),
    "another checksum": produce({"t": {0: batch([AHEAD_MS], crc=0)}}),
    "a wrong maximum": produce({"t": {0: batch([AHEAD_MS], max_timestamp=5)}}),
    "a wrong count": produce({"t": {0: batch([AHEAD_MS], records_count=2)}}),
    "no sequence": produce({"t": {0: batch([AHEAD_MS], producer_id=7, base_sequence=-1)}}),
    "several producers": produce(
        {"t": {n: batch([AHEAD_MS], producer_id=n, producer_epoch=0, base_sequence=0) for n in (7, 8)}}
    ),
    "several epochs": produce(
        {"t": {n: batch([AHEAD_MS], producer_id=7, producer_epoch=n, base_sequence=0) for n in (1, 2)}}
    ),
    "a producer, and none": produce(
        {"t": {0: AHEAD, 1: batch([AHEAD_MS], producer_id=7, producer_epoch=0, base_sequence=0)}}
    ),
    "two batches": produce({"t": {0: AHEAD + AHEAD}}),
    "a byte more": produce({"t": {0: AHEAD + b"\x00"}}),
    "more culprits than are listed": produce({"t": {0: batch([AHEAD_MS] * 101)}}),
    "too many partitions": produce({"t": {n: batch([AHEAD_MS]) for n in range(65)}}),
    "half a frame": produce({"t": {0: AHEAD}})[:-1],
    "another API": request(HEARTBEAT, 4),
    "nothing": b"",
}


@pytest.mark.parametrize("what", LEFT_TO_THE_SESSION)
def test_whatever_differs_is_left_to_the_session(what):
    rejecting = Rejecting()
    assert rejecting.rejecter.reject(LEFT_TO_THE_SESSION[what], NOW_MS) == (0, b"", 0)
    assert rejecting.table.drain() == []


def test_a_partition_named_twice_is_left_to_the_session():
    once = produce({"t": {1: AHEAD, 2: AHEAD}}, version=7)
    twice = once.replace(
        b"\x00\x00\x00\x02" + len(AHEAD).to_bytes(4, "big"),
        b"\x00\x00\x00\x01" + len(AHEAD).to_bytes(4, "big"),
    )
    assert Rejecting().rejects(once) == len(once)
    assert twice != once
    assert Rejecting().rejects(twice) == 0


@pytest.mark.parametrize("now_ms", [NOW_MS - 1, NOW_MS + 1000])
def test_a_rejection_is_repeated_only_for_a_while(now_ms):
    asked = produce({"t": {0: AHEAD}})
    assert Rejecting().rejects(asked, now_ms=now_ms) == 0
    assert Rejecting().rejects(asked, now_ms=NOW_MS + 999) == len(asked)


def test_larger_batches_than_the_topic_takes_are_rejected_for_that_and_by_the_session():
    asked = produce({"t": {0: AHEAD}})
    limits = replace(LIMITS, max_message_bytes=len(AHEAD))
    assert Rejecting(limits=limits).rejects(asked) == len(asked)
    limits = replace(LIMITS, max_message_bytes=len(AHEAD) - 1)
    assert Rejecting(limits=limits).rejects(asked) == 0


def test_nothing_is_answered_out_of_turn_nor_without_leave():
    rejecting, asked = Rejecting(), produce({"t": {0: AHEAD}})
    rejecting.in_flight.push("a request whose answer is due first")
    assert rejecting.rejects(asked) == 0
    rejecting.in_flight.pop()
    rejecting.requests.is_open = False
    assert rejecting.rejects(asked) == 0
    rejecting.requests.is_open = True
    assert rejecting.rejects(asked) == len(asked)


def test_it_ends_behind_a_request_for_which_the_client_is_throttled():
    asked, answer = produce({"t": {0: AHEAD, 1: AHEAD}}, version=9), []

    def throttle(batches, size, now_ms):
        answer.append((batches, size, now_ms))
        return 0 if len(answer) == 1 else 77

    rejecter = Rejecting(throttle=throttle).rejecter
    size, answers, silent_ms = rejecter.reject(asked * 3, NOW_MS)
    assert (size, silent_ms) == (2 * len(asked), 77)
    assert answers.endswith((77).to_bytes(4, "big") + b"\x00"), "its throttle_time_ms, and no tags"
    assert answer == [(2, 2 * len(AHEAD), NOW_MS)] * 2


def test_one_read_names_only_so_many():
    asked = produce({"t": {0: batch([AHEAD_MS] * 900)}})
    rejecting = Rejecting(culprits_listed=1000)
    assert rejecting.rejects(asked * 30) == 22 * len(asked)
    assert rejecting.rejects(asked * 8) == 8 * len(asked)


def test_sides_and_units_of_one_topic_stand_beside_each_other():
    rejecting = Rejecting()
    key = TOO_FAR_AHEAD.key._replace(reason=Reason.TOO_OLD)
    rejecting.table.repeat(replace(TOO_FAR_AHEAD, lowest_ms=0, highest_ms=NOW_MS, key=key))
    asked = [produce({"t": {0: batch([each])}}) for each in (AHEAD_MS, OLD_MS, AHEAD_MS)]
    assert rejecting.rejects(*asked) == sum(map(len, asked))
    assert [(each.key.reason, each.batches) for each in rejecting.table.drain()] == [
        (Reason.TOO_FAR_AHEAD, 2),
        (Reason.TOO_OLD, 1),
    ]


def test_what_is_learnt_anew_takes_the_place_of_what_was_said_before():
    rejecting, later = Rejecting(), NOW_MS + 5000
    asked = produce({"t": {0: AHEAD}})
    assert rejecting.rejects(asked) == len(asked)
    rejecting.table.repeat(replace(TOO_FAR_AHEAD, from_ms=later, until_ms=later + 1000))
    assert rejecting.rejects(asked) == 0
    assert rejecting.rejects(asked, now_ms=later) == len(asked)
    (totals,) = rejecting.table.drain()
    assert (totals.batches, totals.first_ms, totals.last_ms) == (2, NOW_MS, later)


def test_bounds_at_the_ends_of_a_long_are_kept():
    limits = replace(LIMITS, before_max_ms=None, after_max_ms=LONG_MAX)
    rejecting = Rejecting(limits=limits, highest_ms=LONG_MAX)
    assert rejecting.rejects(produce({"t": {0: batch([LONG_MAX])}})) == 0


def test_the_size_of_a_text_is_right_however_many_bytes_it_takes(monkeypatch):
    rejections = import_module("tsproxy.fastpath._native.rejections")
    for size in (0, 100, 126, 127, 200, 16_300, 16_400, 32_000):
        words = ("", "x" * size, "")
        monkeypatch.setattr(rejections, "out_of_range_pieces", lambda *_, words=words: words)
        rejecting = Rejecting(error_message="")
        for version in (8, 12):
            asked = produce({"t": {0: batch([AHEAD_MS, AHEAD_MS])}}, version=version)
            end, answer, _ = rejecting.rejecter.reject(asked, NOW_MS)
            assert end == len(asked)
            assert int.from_bytes(answer[:4], "big") == len(answer) - 4
            assert answer.count(b"x" * size) >= 2
    assert ErrorCode.INVALID_TIMESTAMP == 32

"""The lexers of both variants: the same for any bytes; and what passes at all."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kernel.traces import trace
from tests.kernel.variants import VARIANTS, name_of
from tests.session.conversation import DAY_MS, HOUR_MS, LIMITS, NOW_MS, PEER
from tests.session.messages import FETCH, HEARTBEAT, METADATA, answer, produce, produced, request
from tests.wire.batches import GZIP, batch
from tsproxy.decisions.drift import EDGES, THRESHOLDS_MS, bucket
from tsproxy.session.passing import FLEXIBLE_FROM
from tsproxy.session.requests import RELAYED
from tsproxy.wire.kernel import PassedProduce, PassedRelay


@pytest.mark.skipif(len(VARIANTS) == 1, reason="no native kernel here to compare the twin with")
@given(seed=st.integers(0, 2**32 - 1))
def test_both_variants_do_the_same_whatever_comes(seed):
    twin, native = (trace(kernel, seed) for kernel in VARIANTS)
    assert native == twin


PEER_APP = replace(PEER, client_id="app")


class Kernel:
    """One variant with a table for client "app" and the topics t and u."""

    def __init__(self, variant, room=1000):
        self.in_flight = variant.InFlight(lambda passed: passed)
        self.table = variant.Table(PEER_APP, None, 1000, EDGES)
        for topic in ("t", "u"):
            self.table.add(topic, LIMITS, LIMITS.before_max_ms, LIMITS.after_max_ms)
        self.requests = variant.RequestLexer(self.in_flight, RELAYED, FLEXIBLE_FROM, 100_000, 1_000)
        self.requests.table = self.table
        self.answers = variant.AnswerLexer(self.in_flight)
        self.room = room

    def passes(self, *frames):
        """How many bytes of the frames pass."""
        return self.requests.passing(b"".join(frames), 0, self.room, NOW_MS)

    def accepts(self, *frames):
        return self.answers.passing(b"".join(frames), 0)


@pytest.fixture(params=VARIANTS, ids=name_of)
def kernel(request):
    return Kernel(request.param)


GOOD = batch([NOW_MS, NOW_MS + 5])


@pytest.mark.parametrize("version", range(3, 13))
def test_a_good_produce_request_passes_and_so_does_its_answer(kernel, version):
    asked = produce({"t": {0: GOOD, 3: GOOD}, "u": {1: GOOD}}, version=version)
    told = produced({"t": {0: {}, 3: {}}, "u": {1: {}}}, version=version)
    assert kernel.passes(asked) == len(asked)
    assert len(kernel.in_flight) == kernel.table.in_flight == 1
    assert kernel.accepts(told) == len(told)
    assert len(kernel.in_flight) == kernel.table.in_flight == 0
    assert [(totals.topic, totals.batches, totals.records) for totals in kernel.table.drain()] == [
        ("t", 2, 4),
        ("u", 1, 2),
    ]


def test_a_request_whose_answer_nobody_reads_passes(kernel):
    asked = request(HEARTBEAT, 4, b"what it says") + request(FETCH, 12, b"", correlation_id=2)
    told = answer(HEARTBEAT, 4, b"fine", 1) + answer(FETCH, 12, b"records", 2)
    assert kernel.passes(asked) == len(asked)
    assert kernel.accepts(told) == len(told)


def test_an_answer_that_is_not_whole_does_not_pass_yet(kernel):
    kernel.passes(request(FETCH, 12))
    told = answer(FETCH, 12, b"records")
    assert kernel.accepts(told[:-1]) == 0
    assert kernel.in_flight.head() == PassedRelay(1)


ODD_REQUESTS = {
    "an answer with addresses": request(METADATA, 12),
    "an API that is not known": request(67, 0),
    "a version that is not known": request(HEARTBEAT, 5),
    "a tag in the header": request(HEARTBEAT, 4)[:-1] + b"\x01\x05\x01x",
    "a frame above limits.other_frame": request(HEARTBEAT, 0, bytes(1000)),
    "Produce v2": produce({"t": {0: GOOD}}, version=2),
    "Produce v13": request(0, 13),
    "acks=0": produce({"t": {0: GOOD}}, acks=0),
    "another client id": produce({"t": {0: GOOD}}, client_id="somebody"),
    "no client id": produce({"t": {0: GOOD}}, client_id=None),
    "a transactional id": produce({"t": {0: GOOD}}, transactional_id="tx"),
    "a topic that has no row": produce({"other": {0: GOOD}}),
    "one partition that is not fine": produce({"t": {0: GOOD, 1: GOOD}, "u": {0: GOOD, 1: None}}),
    "a time 1 ms too far ahead": produce({"t": {0: batch([NOW_MS, NOW_MS + HOUR_MS + 1])}}),
    "a time 1 ms too old": produce({"t": {0: batch([NOW_MS, NOW_MS - DAY_MS - 1])}}),
    "a compressed batch": produce({"t": {0: batch([NOW_MS], GZIP)}}),
    "bit 3": produce({"t": {0: batch([NOW_MS], attributes=0x08)}}),
    "bit 6": produce({"t": {0: batch([NOW_MS], attributes=0x40)}}),
    "a transactional batch": produce({"t": {0: batch([NOW_MS], attributes=0x10)}}),
    "two batches": produce({"t": {0: GOOD + GOOD}}),
    "a header that tells another maximum": produce({"t": {0: batch([NOW_MS], max_timestamp=NOW_MS + 1)}}),
    "bytes behind the request": request(0, 9, produce({"t": {0: GOOD}})[15:] + b"\x00"),
}


@pytest.mark.parametrize("odd", ODD_REQUESTS.values(), ids=ODD_REQUESTS)
def test_a_request_that_needs_thought_stops_the_run(kernel, odd):
    good = produce({"t": {0: GOOD}})
    assert kernel.passes(good, odd, good) == len(good)
    assert len(kernel.in_flight) == 1


@pytest.mark.parametrize("time_ms", [NOW_MS + HOUR_MS, NOW_MS - DAY_MS, -1])
def test_a_time_at_its_bound_and_no_time_at_all_pass(kernel, time_ms):
    asked = produce({"t": {0: batch([time_ms])}})
    assert kernel.passes(asked) == len(asked)


def test_no_more_pass_than_may_be_in_flight(kernel):
    asked = produce({"t": {0: GOOD}})
    kernel.room = 2
    assert kernel.passes(asked, asked, asked) == 2 * len(asked)


ODD_ANSWERS = {
    "an error": {0: {"error_code": 32}},
    "an error behind a yes": {0: {}, 1: {"error_code": 6}},
    "a message": {0: {"error_message": "well"}, 1: {}},
    "a partition that nobody asked for": {0: {}, 2: {}},
    "a partition too few": {0: {}},
    "a tag": {0: {"tags": b"\x01\x05\x01x"}, 1: {}},
}


@pytest.mark.parametrize("odd", ODD_ANSWERS.values(), ids=ODD_ANSWERS)
def test_an_answer_that_needs_thought_stops_the_run_and_counts_nothing(kernel, odd):
    kernel.passes(produce({"t": {0: GOOD, 1: GOOD}}))
    assert kernel.accepts(produced({"t": odd})) == 0
    passed = kernel.in_flight.head()
    assert isinstance(passed, PassedProduce)
    assert [(batch.topic, batch.partition, batch.limits) for batch in passed.batches] == [
        ("t", 0, LIMITS),
        ("t", 1, LIMITS),
    ]
    assert kernel.table.drain() == []


def test_the_wrong_correlation_id_stops_the_run(kernel):
    kernel.passes(produce({"t": {0: GOOD}}))
    assert kernel.accepts(produced({"t": {0: {}}}, correlation_id=2)) == 0


def test_a_broker_may_tell_partitions_in_another_order(kernel):
    kernel.passes(produce({"t": {0: GOOD, 1: GOOD}, "u": {7: GOOD}}))
    told = produced({"u": {7: {}}, "t": {1: {}, 0: {}}})
    assert kernel.accepts(told) == len(told)


def test_the_sessions_own_slots_stop_the_run_and_keep_their_place(kernel):
    kernel.passes(request(HEARTBEAT, 0, correlation_id=1))
    kernel.in_flight.push("mine")
    kernel.passes(request(HEARTBEAT, 0, correlation_id=2))
    told = answer(HEARTBEAT, 0, b"", 1) + answer(HEARTBEAT, 0, b"", 2)
    assert kernel.in_flight.own_head() is None
    assert kernel.accepts(told) == len(told) // 2
    assert kernel.in_flight.own_head() == kernel.in_flight.head() == "mine"
    kernel.in_flight.pop()
    assert kernel.in_flight.clear() == [PassedRelay(2)]


def test_a_thousand_in_flight_come_out_in_their_order(kernel):
    """Through every growth of the queue, its head anywhere."""
    for turn in range(1_000):
        kernel.passes(produce({"t": {turn: GOOD, turn + 1: GOOD}}, correlation_id=turn))
        if turn % 3 == 0:
            assert kernel.in_flight.head().correlation_id == turn // 3
            kernel.in_flight.pop()
    rest = kernel.in_flight.clear()
    assert [passed.correlation_id for passed in rest] == list(range(334, 1_000))
    assert all(passed.batches[1].partition == passed.correlation_id + 1 for passed in rest)


def test_what_was_accepted_is_counted_by_drift(kernel):
    for number, times_ms in enumerate([(0, 5), (0, 5), (-100,), (-1 - NOW_MS,)]):
        asked = batch([NOW_MS + time_ms for time_ms in times_ms])
        kernel.passes(produce({"t": {0: asked}}, correlation_id=number))
        kernel.accepts(produced({"t": {0: {}}}, correlation_id=number))
    (totals,) = kernel.table.drain()
    assert (totals.batches, totals.records, totals.requests) == (4, 6, 4)
    assert (totals.drift_min_ms, totals.drift_max_ms) == (-100, 5)
    assert totals.ahead == ((bucket(-100), 1, 1), (bucket(5), 2, 4))
    assert totals.behind == ((bucket(-100), 1, 1), (0, 2, 4))
    assert kernel.table.drain() == []


def test_drift_is_counted_to_the_millisecond_at_every_bound_that_people_set(kernel):
    """What other limits would have rejected is summed up from these: no edge may lie beside its bound."""
    drifts_ms = [side * (bound + by) for bound in THRESHOLDS_MS for by in (-1, 0, 1) for side in (-1, 1)]
    kernel.table.add("any", LIMITS, None, None)
    for number, drift_ms in enumerate(drifts_ms):
        kernel.passes(produce({"any": {0: batch([NOW_MS + drift_ms])}}, correlation_id=number))
        kernel.accepts(produced({"any": {0: {}}}, correlation_id=number))
    (totals,) = kernel.table.drain()
    counted = Counter(bucket(drift_ms) for drift_ms in drifts_ms)
    assert totals.ahead == totals.behind == tuple((each, n, n) for each, n in sorted(counted.items()))

"""Which requests and answers the filters forward."""

from collections import Counter
from dataclasses import replace

import pytest

from tests.session.conversation import DAY_MS, HOUR_MS, LIMITS, NOW_MS, PEER, id_of
from tests.session.messages import (
    ALL_VERSIONS,
    FETCH,
    HEARTBEAT,
    METADATA,
    answer,
    produce,
    produced,
    request,
)
from tests.wire.batches import GZIP, batch
from tsproxy import fastpath
from tsproxy.decisions.drift import THRESHOLDS_MS, bucket
from tsproxy.decisions.totals import bar
from tsproxy.fastpath import ForwardedProduce, ForwardedRelay
from tsproxy.session.budget import DecompressionBudget
from tsproxy.session.requests import RELAYED

PEER_APP = replace(PEER, client_id="app")


class Filters:
    """Both filters with a table for client "app" and the topics t and u, by name or by id."""

    def __init__(self, most=1000, names_ids=False, produce_frame=100_000):
        self.in_flight = fastpath.InFlight(lambda forwarded: forwarded)
        self.table = fastpath.Table(PEER_APP, None, 1000, names_ids=names_ids)
        for topic in ("t", "u"):
            topic_id = id_of(topic) if names_ids else None
            self.table.add(topic, LIMITS, LIMITS.before_max_ms, LIMITS.after_max_ms, topic_id)
        self.requests = fastpath.RequestFilter(
            self.in_flight, RELAYED, produce_frame, 1_000, DecompressionBudget
        )
        self.requests.table = self.table
        self.answers = fastpath.AnswerFilter(self.in_flight)
        self.most = most

    def passes(self, *frames):
        """How many bytes of the frames are forwarded."""
        return self.requests.forward_buffered(b"".join(frames), 0, self.most, NOW_MS, DecompressionBudget())

    def accepts(self, *frames):
        return self.answers.forward_buffered(b"".join(frames), 0)


@pytest.fixture
def filters():
    return Filters()


GOOD = batch([NOW_MS, NOW_MS + 5])


@pytest.mark.parametrize("version", ALL_VERSIONS[3:])
def test_a_good_produce_request_passes_and_so_does_its_answer(version):
    filters = Filters(names_ids=version >= 13)
    asked = produce({"t": {0: GOOD, 3: GOOD}, "u": {1: GOOD}}, version=version)
    answers = produced({"t": {0: {}, 3: {}}, "u": {1: {}}}, version=version)
    assert filters.passes(asked) == len(asked)
    assert len(filters.in_flight) == filters.table.in_flight == 1
    assert filters.accepts(answers) == len(answers)
    assert len(filters.in_flight) == filters.table.in_flight == 0
    assert [(totals.topic, totals.batches, totals.records) for totals in filters.table.drain()] == [
        ("t", 2, 4),
        ("u", 1, 2),
    ]


@pytest.mark.parametrize("names_ids", [True, False])
def test_a_table_by_name_takes_no_ids_and_one_by_id_no_names(names_ids):
    asked = produce({"t": {0: GOOD}}, version=12 if names_ids else 13)
    assert Filters(names_ids=names_ids).passes(asked) == 0


def test_a_request_whose_answer_nobody_reads_passes(filters):
    asked = request(HEARTBEAT, 4, b"what it says") + request(FETCH, 12, b"", correlation_id=2)
    answers = answer(HEARTBEAT, 4, b"fine", 1) + answer(FETCH, 12, b"records", 2)
    assert filters.passes(asked) == len(asked)
    assert filters.accepts(answers) == len(answers)


def test_an_answer_that_is_not_whole_does_not_pass_yet(filters):
    filters.passes(request(FETCH, 12))
    answers = answer(FETCH, 12, b"records")
    assert filters.accepts(answers[:-1]) == 0
    assert filters.in_flight.head() == ForwardedRelay(1)


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
def test_a_request_that_needs_thought_stops_the_run(filters, odd):
    good = produce({"t": {0: GOOD}})
    assert filters.passes(good, odd, good) == len(good)
    assert len(filters.in_flight) == 1


@pytest.mark.parametrize("time_ms", [NOW_MS + HOUR_MS, NOW_MS - DAY_MS, -1])
def test_a_time_at_its_bound_and_no_time_at_all_pass(filters, time_ms):
    asked = produce({"t": {0: batch([time_ms])}})
    assert filters.passes(asked) == len(asked)


def test_no_more_pass_than_may_be_in_flight(filters):
    asked = produce({"t": {0: GOOD}})
    filters.most = 2
    assert filters.passes(asked, asked, asked) == 2 * len(asked)


ODD_ANSWERS = {
    "an error": {0: {"error_code": 32}},
    "an error behind a yes": {0: {}, 1: {"error_code": 6}},
    "a message": {0: {"error_message": "well"}, 1: {}},
    "a partition that nobody asked for": {0: {}, 2: {}},
    "a partition too few": {0: {}},
    "a tag": {0: {"tags": b"\x01\x05\x01x"}, 1: {}},
}


@pytest.mark.parametrize("odd", ODD_ANSWERS.values(), ids=ODD_ANSWERS)
def test_an_answer_that_needs_thought_stops_the_run_and_counts_nothing(filters, odd):
    filters.passes(produce({"t": {0: GOOD, 1: GOOD}}))
    assert filters.accepts(produced({"t": odd})) == 0
    forwarded = filters.in_flight.head()
    assert isinstance(forwarded, ForwardedProduce)
    assert [(batch.topic, batch.partition, batch.limits) for batch in forwarded.batches] == [
        ("t", 0, LIMITS),
        ("t", 1, LIMITS),
    ]
    assert filters.table.drain() == []


def test_the_wrong_correlation_id_stops_the_run(filters):
    filters.passes(produce({"t": {0: GOOD}}))
    assert filters.accepts(produced({"t": {0: {}}}, correlation_id=2)) == 0


def test_a_broker_may_tell_partitions_in_another_order(filters):
    filters.passes(produce({"t": {0: GOOD, 1: GOOD}, "u": {7: GOOD}}))
    answers = produced({"u": {7: {}}, "t": {1: {}, 0: {}}})
    assert filters.accepts(answers) == len(answers)


def test_the_sessions_own_slots_stop_the_run_and_keep_their_place(filters):
    filters.passes(request(HEARTBEAT, 0, correlation_id=1))
    filters.in_flight.push("mine")
    filters.passes(request(HEARTBEAT, 0, correlation_id=2))
    answers = answer(HEARTBEAT, 0, b"", 1) + answer(HEARTBEAT, 0, b"", 2)
    assert filters.in_flight.own_head() is None
    assert filters.accepts(answers) == len(answers) // 2
    assert filters.in_flight.own_head() == filters.in_flight.head() == "mine"
    filters.in_flight.pop()
    assert filters.in_flight.clear() == [ForwardedRelay(2)]


def test_a_thousand_in_flight_come_out_in_their_order(filters):
    """Through every growth of the queue, its head anywhere."""
    for turn in range(1_000):
        filters.passes(produce({"t": {turn: GOOD, turn + 1: GOOD}}, correlation_id=turn))
        if turn % 3 == 0:
            assert filters.in_flight.head().correlation_id == turn // 3
            filters.in_flight.pop()
    rest = filters.in_flight.clear()
    assert [forwarded.correlation_id for forwarded in rest] == list(range(334, 1_000))
    assert all(forwarded.batches[1].partition == forwarded.correlation_id + 1 for forwarded in rest)


def test_what_was_accepted_is_counted_by_drift(filters):
    for number, times_ms in enumerate([(0, 5), (0, 5), (-100,), (-1 - NOW_MS,)]):
        asked = batch([NOW_MS + time_ms for time_ms in times_ms])
        filters.passes(produce({"t": {0: asked}}, correlation_id=number))
        filters.accepts(produced({"t": {0: {}}}, correlation_id=number))
    (totals,) = filters.table.drain()
    assert (totals.batches, totals.records, totals.requests) == (4, 6, 4)
    assert (totals.drift_min_ms, totals.drift_max_ms) == (-100, 5)
    assert totals.ahead == {bucket(-100): bar(1, 1), bucket(5): bar(2, 4)}
    assert totals.behind == {bucket(-100): bar(1, 1), 0: bar(2, 4)}
    assert filters.table.drain() == []


def test_drift_is_counted_to_the_millisecond_at_every_bound_that_people_set(filters):
    """The counts for other limits are sums of these: no edge may lie beside its bound."""
    drifts_ms = [side * (bound + by) for bound in THRESHOLDS_MS for by in (-1, 0, 1) for side in (-1, 1)]
    filters.table.add("any", LIMITS, None, None)
    for number, drift_ms in enumerate(drifts_ms):
        filters.passes(produce({"any": {0: batch([NOW_MS + drift_ms])}}, correlation_id=number))
        filters.accepts(produced({"any": {0: {}}}, correlation_id=number))
    (totals,) = filters.table.drain()
    counted = Counter(bucket(drift_ms) for drift_ms in drifts_ms)
    assert totals.ahead == totals.behind == {each: bar(n, n) for each, n in counted.items()}

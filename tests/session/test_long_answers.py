"""A broker that names a thousand culprits: few are read, all are counted, and the client gets every one."""

import pytest

from tests.attacks.steps import bytecodes
from tests.session.conversation import NOW_MS, PEER, Session, view_of
from tests.session.messages import out_of_range, produce, produced, rejected
from tests.wire.batches import batch
from tsproxy.decisions.events import decision
from tsproxy.decisions.privacy import Privacy
from tsproxy.decisions.totals import Totals
from tsproxy.session.effects import Emit, ReadAnswer, SendToClient
from tsproxy.wire import k00_produce

GOOD, BAD = batch([NOW_MS]), batch([0])
KEYLESS = "Compacted topic cannot accept message without key in topic partition t-0."
MANY = 5_000
RECORDS = batch([NOW_MS] * MANY)


def through(session, answer):
    """The effects of an answer, read on the loop or in a thread."""
    effects = session.broker_bytes(answer, NOW_MS)
    for effect in effects:
        if isinstance(effect, ReadAnswer):
            effects = effects + session.answer_read(effect.job(), NOW_MS)
    return effects


def answered(*topics_and_answers, version=9):
    """The way of one request: (the frame for the client, the outcomes)."""
    one = Session(PEER, view_of())
    asked, told = topics_and_answers
    one.client_bytes(produce(asked, version), NOW_MS)
    effects = through(one, produced(told, version))
    frames = b"".join(effect.data for effect in effects if isinstance(effect, SendToClient))
    return frames, [effect.outcome for effect in effects if isinstance(effect, Emit)]


def keyless(count):
    return {**rejected(*((index, KEYLESS) for index in range(count))), "error_code": 87}


@pytest.mark.parametrize("version", [8, 9, 12])
@pytest.mark.parametrize("count", [1, 20, 21, 22, MANY])
def test_all_are_counted_and_the_answer_goes_on_as_it_came(version, count):
    told = {"t": {0: keyless(count)}}
    frame, (outcome,) = answered({"t": {0: RECORDS}}, told, version=version)

    assert frame == produced(told, version)
    assert outcome.bad_records == count
    assert outcome.reason == "no_key"
    assert [culprit.batch_index for culprit in outcome.culprits[:20]] == list(range(min(count, 20)))
    assert (len(outcome.culprits) > 20) == (count > 20)


@pytest.mark.parametrize("version", [8, 9])
def test_merged_with_rejections_of_ours_every_culprit_is_still_told(version):
    told = {"t": {0: keyless(MANY)}}
    frame, (outcome,) = answered({"t": {0: RECORDS, 1: BAD}}, told, version=version)
    start = 9 if version >= 9 else 8
    response = k00_produce.read_response(version, frame[start:])
    alone = k00_produce.read_response(version, produced(told, version)[start:])

    (topic,) = response.topics
    assert topic.partitions[0] == alone.topics[0].partitions[0]
    assert [partition.error_code for partition in topic.partitions] == [87, 32]
    assert outcome.bad_records == MANY


def test_the_lowest_and_the_highest_time_of_all_are_told():
    times = [NOW_MS - n for n in range(MANY)]
    times[MANY // 2], times[-2] = 7, NOW_MS * 1000
    told = {"t": {0: rejected(*(out_of_range(time_ms, n) for n, time_ms in enumerate(times)))}}
    _, (outcome,) = answered({"t": {0: RECORDS}}, told)
    line = decision(Totals.of(outcome), outcome, 0, Privacy())

    assert (line["bad_ts_min"], line["bad_ts_max"]) == (7, NOW_MS * 1000)
    assert (line["bad_index"], line["bad_ts"]) == (list(range(20)), times[:20])
    assert line["bad_index_truncated"]
    assert line["bad_records"] == MANY


def test_a_long_answer_costs_no_object_an_error():
    one = Session(PEER, view_of())
    one.client_bytes(produce({"t": {0: RECORDS}}), NOW_MS)
    told = produced({"t": {0: keyless(MANY)}})
    _, count = bytecodes(through, one, told)

    assert count < 20_000

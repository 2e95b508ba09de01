"""Which batches are handed on for copies of their records, and that nothing else changes by it."""

from dataclasses import replace
from functools import partial

from tests.session.conversation import (
    DAY_MS,
    NOW_MS,
    Conversation,
    booked,
    buried,
    client,
    to_broker,
    view_by,
    view_of,
)
from tests.session.messages import accepted, produce, produced
from tests.wire.batches import batch
from tsproxy.model.kafka import ErrorCode
from tsproxy.model.policy import Match, Mode, Policy, Rule, RuleSettings
from tsproxy.model.verdict import Reason
from tsproxy.policy.fast_path import fast_path_bounds
from tsproxy.session.effects import Emit, EmitDead, SendToClient
from tsproxy.session.policies import of_anybody

BAD_MS = NOW_MS + DAY_MS

view = partial(view_by, "keep", dead_letters=True)


def dead_of(effects):
    return [effect.batch for effect in effects if isinstance(effect, EmitDead)]


def test_a_rejected_batch_is_handed_on_as_it_came_with_what_it_was_rejected_for():
    data = batch([NOW_MS, BAD_MS, NOW_MS, BAD_MS + 1])
    [dead] = dead_of(client(produce({"t": {3: data}}))(Conversation(view())))

    assert (dead.records, dead.topic, dead.partition, dead.now_ms) == (data, "t", 3, NOW_MS)
    assert (dead.rule, dead.bad_records, dead.peer.client_id) == ("keep", 2, "app")
    assert [violation.batch_index for violation in dead.rejection.violations] == [1, 3]


def test_what_the_client_is_told_is_what_it_is_told_without():
    request = produce({"t": {0: batch([BAD_MS])}})
    told = client(request)(Conversation(view()))
    otherwise = client(request)(Conversation(view_of()))

    assert [each for each in told if isinstance(each, SendToClient)] == [
        each for each in otherwise if isinstance(each, SendToClient)
    ]


def test_beside_a_good_partition_only_the_bad_one_is_handed_on():
    good, bad = batch([NOW_MS]), batch([BAD_MS])
    assert (
        Conversation(view())
        >> client(produce({"t": {0: good, 1: bad}}))
        << to_broker(produce({"t": {0: good}}))
        << booked("rejected", partition=1, rule="keep")
        << buried(partition=1, records=bad)
    )


def test_nothing_of_it_is_kept_until_the_broker_answers():
    conversation = Conversation(view())
    client(produce({"t": {0: batch([NOW_MS]), 1: batch([BAD_MS])}}))(conversation)

    [slot] = conversation.session._state.slots.clear()
    assert [partition.dead for partition in slot.verdict.rejected] == [None]


def test_no_copies_without_a_rule_that_asks_nor_of_what_is_forwarded():
    request = produce({"t": {0: batch([BAD_MS])}})

    assert dead_of(client(request)(Conversation())) == []
    assert dead_of(client(request)(Conversation(view(mode=Mode.AUDIT)))) == []


def test_a_batch_that_only_the_broker_rejects_is_not_copied():
    """The proxy has forwarded it, and keeps no bytes of it."""
    session = Conversation(view()).session
    effects = session.client_bytes(produce({"t": {0: batch([NOW_MS])}}), NOW_MS)
    effects += session.broker_bytes(produced({"t": {0: {"error_code": ErrorCode.INVALID_TIMESTAMP}}}), NOW_MS)
    assert [each.outcome.verdict for each in effects if isinstance(each, Emit)] == ["broker_rejected"]
    assert dead_of(effects) == []


def test_a_batch_rejected_as_a_whole_is_handed_on_without_its_bytes():
    [dead] = dead_of(client(produce({"t": {0: batch([BAD_MS] * 2, crc=1)}}))(Conversation(view())))

    assert (dead.records, dead.bad_records, dead.rejection.bad_records) == (b"", 2, None)


def test_defaults_may_ask_for_everybody_and_a_rule_may_not_want_it():
    everybody = Policy(
        defaults=RuleSettings(dead_letters=True), rules=(Rule("not", Match(), RuleSettings()),)
    )
    nobody = replace(everybody, rules=(Rule("not", Match(), RuleSettings(dead_letters=False)),))
    request = produce({"t": {0: batch([BAD_MS])}})

    assert dead_of(client(request)(Conversation(replace(view_of(), policy=everybody))))
    assert not dead_of(client(request)(Conversation(replace(view_of(), policy=nobody))))


def test_the_kernel_may_pass_what_it_may_pass_without():
    """Only rejected batches are copied, and none of them ever passes."""
    kept, bare = (of_anybody(v).of("t", NOW_MS) for v in (view(), view_of()))

    assert fast_path_bounds(kept) == fast_path_bounds(bare)
    assert Reason.TOO_FAR_AHEAD in {dead.rejection.reason for dead in dead_of(passed_and_rejected())}


def passed_and_rejected():
    """With the kernel, after it has learnt the topic: a bad batch still comes to the session."""
    conversation = Conversation(view(), uses_fast_path=True)
    session, now_ms = conversation.session, NOW_MS
    for data in (batch([NOW_MS]), batch([NOW_MS])):
        session.client_bytes(produce({"t": {0: data}}), now_ms)
        session.broker_bytes(produced({"t": {0: accepted()}}), now_ms)
    return session.client_bytes(produce({"t": {0: batch([BAD_MS])}}), now_ms)

"""Dead letters: a rejected batch is handed on as it came. Nothing of it is kept until the broker answers."""

from functools import partial

import pytest

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
from tests.session.messages import produce, produced
from tests.wire.batches import batch
from tsproxy.model.kafka import ErrorCode
from tsproxy.model.policy import Match, Mode, Policy, Rule, RuleSettings
from tsproxy.session.effects import Emit, EmitDead, SendToClient

BAD_MS = NOW_MS + DAY_MS
GOOD, BAD = batch([NOW_MS]), batch([BAD_MS])

view = partial(view_by, "keep", dead_letters=True)


def dead_of(effects):
    return [effect.batch for effect in effects if isinstance(effect, EmitDead)]


def effects_of(data, view, **facts):
    return client(produce({"t": {3: data}}))(Conversation(view, **facts))


def test_a_rejected_batch_is_handed_on_as_it_came_with_what_it_was_rejected_for():
    data = batch([NOW_MS, BAD_MS, NOW_MS, BAD_MS + 1])
    told, without = effects_of(data, view()), effects_of(data, view_of())
    [dead] = dead_of(told)

    assert (dead.records, dead.topic, dead.partition, dead.now_ms) == (data, "t", 3, NOW_MS)
    assert (dead.rule, dead.bad_records, dead.peer.client_id) == ("keep", 2, "app")
    assert [violation.batch_index for violation in dead.rejection.violations] == [1, 3]
    to_client = [[one for one in effects if isinstance(one, SendToClient)] for effects in (told, without)]
    assert to_client[0] == to_client[1]


def test_beside_a_good_partition_only_the_bad_one_is_handed_on():
    conversation = (
        Conversation(view())
        >> client(produce({"t": {0: GOOD, 1: BAD}}))
        << to_broker(produce({"t": {0: GOOD}}))
        << booked("rejected", partition=1, rule="keep")
        << buried(partition=1, records=BAD)
    )
    assert conversation
    [slot] = conversation.session._state.slots.clear()
    assert [partition.dead for partition in slot.verdict.rejected] == [None]


def by_defaults(**settings):
    everybody = RuleSettings(dead_letters=True)
    return view_of(policy=Policy(defaults=everybody, rules=(Rule("not", Match(), RuleSettings(**settings)),)))


@pytest.mark.parametrize(
    ("view", "is_copied"),
    [
        (view_of(), False),
        (view(mode=Mode.AUDIT), False),
        (by_defaults(), True),
        (by_defaults(dead_letters=False), False),
    ],
    ids=["no rule", "audit", "defaults", "defaults, and a rule that does not want it"],
)
def test_a_rejected_batch_is_copied_if_a_rule_or_the_defaults_ask_for_it(view, is_copied):
    assert bool(dead_of(effects_of(BAD, view))) is is_copied


def test_a_batch_that_only_the_broker_rejects_is_not_copied():
    """The proxy has forwarded it, and keeps no bytes of it."""
    session = Conversation(view()).session
    effects = session.client_bytes(produce({"t": {0: GOOD}}), NOW_MS)
    effects += session.broker_bytes(produced({"t": {0: {"error_code": ErrorCode.INVALID_TIMESTAMP}}}), NOW_MS)
    assert [one.outcome.verdict for one in effects if isinstance(one, Emit)] == ["broker_rejected"]
    assert dead_of(effects) == []


def test_a_batch_rejected_as_a_whole_is_handed_on_without_its_bytes():
    [dead] = dead_of(effects_of(batch([BAD_MS] * 2, crc=1), view()))

    assert (dead.records, dead.bad_records, dead.rejection.bad_records) == (b"", 2, None)

"""A client may make its own treatment stricter, and nobody else's: each input of the table is tried."""

import re
from dataclasses import fields, replace
from random import Random

import pytest

from tests.authority import attempts
from tests.authority.inputs import INPUTS, Who
from tests.authority.talk import LIMITS, NAMES, TOPICS, VICTIM, Shared, Talk, forbidden, is_loosened
from tests.documents.tables import rows_of
from tests.session.conversation import HOUR_MS, NOW_MS, view_of
from tests.session.messages import produce
from tests.wire.batches import CODECS, batch
from tsproxy.model.outcome import Peer
from tsproxy.model.policy import Inspect, Match, Mode, NamePattern, Policy, Rule, RuleSettings, TimeLimit
from tsproxy.model.view import View
from tsproxy.policy.context import RequestContext

SEEDS = range(4)
TRIED = [each for each in INPUTS if each.attempt is not None]


def named(*texts: str) -> tuple[NamePattern, ...]:
    return tuple(NamePattern(text, re.compile(text)) for text in texts)


STRICT = Rule("strict", Match(topics=named("strict")), RuleSettings(after=TimeLimit(HOUR_MS // 2)))
ADMINS = Rule("admins", Match(principals=named("User:admin", "User:vip")), RuleSettings(mode=Mode.OFF))
NETWORK = Rule("network", Match(topics=named("u")), RuleSettings(before=TimeLimit(HOUR_MS)))


def a_view(*more: Rule, needs_sasl: bool = False, inspect: Inspect = Inspect.ALL) -> View:
    defaults = RuleSettings(inspect_compressed=inspect)
    policy = Policy(rules=(*more, ADMINS, STRICT, NETWORK), defaults=defaults)
    view = view_of(TOPICS, policy=policy, limits=LIMITS, throttle_ms=None, broker_needs_sasl=needs_sasl)
    assert view.topic_names.items() < NAMES.items()
    return view


def an_input(name: str):
    return next(each for each in INPUTS if each.attempt is not None and each.attempt.__name__ == name)


def victim_requests() -> list[bytes]:
    """Good and bad ones, in every codec, again and again, so that the fast path knows them, too."""
    good, bad = batch([NOW_MS, NOW_MS - 1_000]), batch([NOW_MS, NOW_MS + 2 * HOUR_MS])
    asked = [
        {"t": {0: good}},
        {"t": {0: bad}},
        {"u": {0: good, 1: bad}, "t": {1: good}},
        {"strict": {0: batch([NOW_MS + HOUR_MS - 1])}},
        *({"t": {2: batch([NOW_MS, NOW_MS + 2 * HOUR_MS], codec)}} for codec in CODECS.values()),
    ]
    return [produce(each, 9 + n % 5, correlation_id=n) for n, each in enumerate(asked * 2)]


def lives(view: View, steps: list[bytes], attacker: Peer, draws: Random, *, uses_fast_path: bool):
    """A victim sends its requests, and an attacker does its steps at any moment between."""
    shared = Shared()
    victim = Talk(view, VICTIM, shared, uses_fast_path=uses_fast_path)
    attacking = [Talk(view, attacker, shared, uses_fast_path=uses_fast_path)]
    waiting, requests = list(steps), victim_requests()
    while waiting or requests:
        if waiting and (not requests or draws.random() < len(waiting) / (len(waiting) + len(requests))):
            step = waiting.pop(0)
            if step == attempts.LEAVE:
                attacking[-1].leaves()
                attacking.append(Talk(view, attacker, shared, uses_fast_path=uses_fast_path))
            else:
                attacking[-1].sends(step)
        else:
            victim.sends(requests.pop(0))
    return victim, attacking


@pytest.mark.parametrize("uses_fast_path", [True, False], ids=["fast path", "session"])
@pytest.mark.parametrize("row", TRIED, ids=lambda row: row.attempt.__name__)
def test_no_client_changes_what_another_gets_or_loosens_its_own(row, uses_fast_path):
    booked = []
    for seed in SEEDS:
        draws = Random(f"{row.name}/{seed}")
        needs_sasl = row.attempt is attempts.principals and seed % 2 == 0
        attacker = Peer("public", draws.choice(("192.0.2.1", "192.0.2.66")), 666)
        view = a_view(needs_sasl=needs_sasl)
        alone, _ = lives(view, [], attacker, draws, uses_fast_path=uses_fast_path)
        steps = list(row.attempt(draws))
        victim, attacking = lives(view, steps, attacker, draws, uses_fast_path=uses_fast_path)

        assert victim.seen == alone.seen, f"seed {seed}"
        assert [is_loosened(each, attacker, view) for each in attacking if each.requests] == [
            [] for each in attacking if each.requests
        ], f"seed {seed}"
        assert [place for each in (victim, *attacking) for place in forbidden(each)] == [], f"seed {seed}"
        booked += [verdict for each in attacking for verdict, _, _ in each.seen[2]]
    assert "rejected" in booked, "no attempt came as far as a verdict"


def test_the_victim_has_batches_of_each_fate():
    """Otherwise nothing about it could change."""
    victim, _ = lives(a_view(), [], VICTIM, Random(0), uses_fast_path=False)
    assert {verdict for verdict, _, _ in victim.booked} == {"accepted", "rejected"}


@pytest.mark.parametrize("name", ["client_ids", "software"])
def test_a_rule_by_a_claim_believes_it_and_changes_nobody_else(name):
    """The operator's choice, of which `tsproxy check` gives a notice. The table says so."""
    row = an_input(name)
    field = "client_ids" if name == "client_ids" else "client_software"
    match = Match(**{field: named(".*(admin|vip|trusted).*")})
    view = a_view(Rule("believed", match, RuleSettings(mode=Mode.OFF)))
    found = []
    for seed in SEEDS:
        draws, attacker = Random(seed), replace(VICTIM, client_address="192.0.2.66")
        alone, _ = lives(view, [], attacker, draws, uses_fast_path=True)
        victim, attacking = lives(view, list(row.attempt(draws)), attacker, draws, uses_fast_path=True)
        assert victim.seen == alone.seen
        found += [place for each in attacking for place in is_loosened(each, attacker, view)]
    assert found
    assert row.needs_setting


def test_batches_in_order_leave_later_ones_of_this_client_unread_if_the_operator_chose_so():
    """Each record is read otherwise, after whatever number of batches."""
    row, found = an_input("good_batches"), []
    for seed in SEEDS:
        draws, attacker = Random(seed), replace(VICTIM, client_address="192.0.2.66")
        steps, view = list(row.attempt(draws)), a_view(inspect=Inspect.ADAPTIVE)
        alone, _ = lives(view, [], attacker, draws, uses_fast_path=True)
        victim, attacking = lives(view, steps, attacker, draws, uses_fast_path=True)
        assert victim.seen == alone.seen
        found += [place for each in attacking for place in forbidden(each)]
    assert found, "the attempt earns no trust"
    assert row.needs_setting


def test_the_page_has_each_input_once_with_who_controls_it_and_what_was_tried():
    rows = rows_of(
        "evidence/threat-model.md", "input", "controlled by", "what it may change", "only with", "tried"
    )
    found = [(name, who, bool(setting), tried.strip("`")) for name, who, _, setting, tried in rows]
    tried = [each.attempt.__name__ if each.attempt else "" for each in INPUTS]
    assert found == [
        (each.name, each.who, each.needs_setting, name) for each, name in zip(INPUTS, tried, strict=True)
    ]
    assert all(may_change for _, _, may_change, *_ in rows)


def test_each_input_of_a_client_is_tried_and_no_other():
    for each in INPUTS:
        assert (each.attempt is not None) == (each.who is Who.CLIENT), each.name


def test_the_table_has_every_field_by_which_the_core_judges():
    """A new field must say who controls it. Fields that are computed from others need not."""
    kinds = (View, Policy, Match, Peer, RequestContext)
    wanted = [f"{kind.__name__}.{each.name}" for kind in kinds for each in fields(kind) if each.init]
    listed = [name for each in INPUTS for name in each.fields]

    assert sorted(listed) == sorted(wanted)

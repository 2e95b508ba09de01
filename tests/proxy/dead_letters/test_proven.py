"""Copies are only for clients that may write: a broker's answer proves that, and nothing else does."""

from dataclasses import replace

import pytest

from tests.decisions.outcomes import named, outcome
from tests.kit.clocks import HandClock
from tests.proxy.dead_letters.test_records import CONFIG, US
from tests.proxy.dead_letters.test_records import rejected as bad_batch
from tsproxy.config.settings.root import Unproven
from tsproxy.decisions import Privacy
from tsproxy.decisions.totals import Totals
from tsproxy.model.kafka import ErrorCode
from tsproxy.model.outcome import VerdictName
from tsproxy.proxy.dead_letters import proven as of_proven
from tsproxy.proxy.dead_letters.drops import DropReason
from tsproxy.proxy.dead_letters.proven import LATELY_MS, MAX_OF_PRINCIPAL, PROVEN, Proven
from tsproxy.proxy.dead_letters.sender import DeadLetters

TILL, EVE, NOBODY = (named(principal=name) for name in ("User:till", "User:eve", None))
STORED = outcome(peer=TILL)
DENIED = outcome(VerdictName.BROKER_REJECTED, peer=TILL, error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED)
REPAIRED, UNCONFIRMED = (outcome(each, peer=TILL) for each in (VerdictName.REPAIRED, VerdictName.UNCONFIRMED))
OTHER_CLIENT = replace(TILL, client_id="other", client_address="10.9.9.9", client_port=1)

CASES = {
    "a batch that a broker stored": ([STORED], TILL, True),
    "one that the fast path forwarded": ([Totals.of(STORED)], TILL, True),
    "one that was repaired": ([REPAIRED], TILL, True),
    "the same principal on another connection": ([STORED], OTHER_CLIENT, True),
    "nothing yet": ([], TILL, False),
    "a batch that nobody acknowledged": ([UNCONFIRMED], TILL, False),
    "a batch that the proxy rejected": ([outcome(VerdictName.REJECTED, peer=TILL)], TILL, False),
    "a batch for another topic": ([outcome(peer=TILL, topic="other")], TILL, False),
    "a batch of another principal": ([STORED], EVE, False),
    "a client without a login": ([outcome(peer=NOBODY)], NOBODY, True),
    "a right that was taken back": ([STORED, DENIED], TILL, False),
    "a right that was given": ([DENIED, STORED], TILL, True),
}


@pytest.mark.parametrize("case", CASES)
def test_a_proof_is_an_answer_to_this_principal_about_this_topic(case):
    booked, peer, holds = CASES[case]
    proven = Proven(has_login=False)
    for each in booked:
        proven.booked(each, 0)
    assert proven.holds(peer, "orders", LATELY_MS - 1) is holds
    assert not proven.holds(peer, "orders", LATELY_MS)


def test_clients_that_log_in_without_a_name_prove_nothing_for_each_other():
    proven = Proven(has_login=True)
    proven.booked(outcome(peer=NOBODY), 0)
    assert not proven.holds(NOBODY, "orders", 0)


def test_a_proof_is_renewed_by_later_batches():
    proven = Proven(has_login=True)
    for at_ms in (0, LATELY_MS - 1):
        proven.booked(STORED, at_ms)
    assert proven.holds(TILL, "orders", LATELY_MS)


def test_a_principal_with_very_many_topics_pushes_nobody_out(monkeypatch):
    monkeypatch.setattr(of_proven, "PROVEN", replace(PROVEN, most=MAX_OF_PRINCIPAL + 1))
    proven = Proven(has_login=True)
    proven.booked(STORED, 0)
    for n in range(MAX_OF_PRINCIPAL + 100):
        proven.booked(outcome(peer=EVE, topic=f"t{n}"), n)
    assert len(proven) == MAX_OF_PRINCIPAL + 1
    assert proven.holds(TILL, "orders", 0)
    proven.booked(outcome(peer=EVE, topic="new"), LATELY_MS + MAX_OF_PRINCIPAL)  # the older ones are over
    assert len(proven) == 1


@pytest.mark.parametrize(
    ("unproven", "has_authorizer", "is_proven", "is_copied"),
    [
        (Unproven.DROP, True, True, True),
        (Unproven.DROP, True, False, False),
        (Unproven.DROP, False, False, True),
        (Unproven.COPY, True, False, True),
    ],
)
async def test_an_unproven_batch_is_copied_only_if_anybody_may_write_or_the_file_says_so(
    unproven, has_authorizer, is_proven, is_copied
):
    config = replace(CONFIG, dead_letters=replace(CONFIG.dead_letters, unproven=unproven))
    letters = DeadLetters(config, None, Privacy(), HandClock(), lambda: has_authorizer)
    dead = bad_batch(US, US)
    if is_proven:
        letters.booked(outcome(peer=dead.peer, topic=dead.topic))
    letters.enqueue(dead)
    assert letters.drops.counts[DropReason.NOT_PROVEN] == (0 if is_copied else 2)
    assert (letters.waiting.first is dead) is is_copied

"""Custom rules: asked about what all else lets pass, contained, and never skipped."""

import asyncio
import json
import re
from dataclasses import fields, replace
from datetime import datetime
from pathlib import Path
from time import sleep
from types import SimpleNamespace

import pytest

from tests.e2e.test_policy import CUSTOM_RULE, OWN_TEST, install
from tests.fastpath.conversations import BoundedOdd, RejectsOdd
from tests.session.conversation import (
    DAY_MS,
    HOUR_MS,
    NOW_MS,
    PEER,
    Conversation,
    Session,
    booked,
    client,
    forwarded,
    returned,
    to_broker,
    to_client,
    view_by,
    warned,
)
from tests.session.messages import accepted, produce, produced, rejected
from tests.wire.batches import CODECS, batch
from tsproxy.model.custom_rule import CustomRule, OnError, RuleContext
from tsproxy.model.kafka import ErrorCode, TimestampType
from tsproxy.model.policy import Mode
from tsproxy.model.verdict import Reason, TopicLimits, UnitGuess
from tsproxy.policy.custom_rules import bounds_of, consult
from tsproxy.session.effects import SendToClient
from tsproxy.testing.rules import SLOW_S, FakeClock, batch_times, check_rule, rule_context
from tsproxy.testing.rules import rejected as rejected_by


class Raises:
    def culprits(self, timestamps_ms, context):
        raise ZeroDivisionError


class Sleeps:
    def culprits(self, timestamps_ms, context):
        sleep(SLOW_S)
        return []


class Remembers:
    def __init__(self):
        self.latest_ms = 0

    def culprits(self, timestamps_ms, context):
        culprits = [(0, "older than another batch")] if timestamps_ms[0] < self.latest_ms else []
        self.latest_ms = timestamps_ms[0]
        return culprits


def answers(*culprits):
    class Fixed:
        def culprits(self, timestamps_ms, context):
            return culprits

    return Fixed()


def view(rule, fail=OnError.CLOSED, mode=None, limits=None):
    return view_by(
        "own", limits=limits or TopicLimits(), mode=mode, custom_rules=(CustomRule("it", rule, fail),)
    )


GOOD, BAD = NOW_MS, NOW_MS + 5001


def asked_of(*times, codec=None):
    return produce({"t": {0: batch(times) if codec is None else batch(times, codec)}})


@pytest.mark.parametrize("codec", CODECS.values(), ids=CODECS)
def test_the_records_that_a_rule_names_are_rejected_with_its_text(codec):
    said = produced({"t": {0: rejected((1, "odd"), (2, "odd"))}})
    conversation = Conversation(view(RejectsOdd())) >> client(asked_of(GOOD, BAD, BAD, codec=codec))
    assert (
        conversation
        << to_client(said)
        << booked("rejected", rule="own", reason=Reason.CUSTOM_RULE, bad_records=2)
    )


class RejectsOddAsAhead(RejectsOdd):
    reason = Reason.TOO_FAR_AHEAD


def test_the_unit_is_told_behind_the_text_of_a_rule_about_sizes_where_that_is_asked_for():
    seen = view(RejectsOddAsAhead())
    conversation = Conversation(replace(seen, policy=replace(seen.policy, names_unit=True)))
    hint = "looks like nanoseconds: divide by 1,000,000; that would be 2026-01-01T00:00:00.000Z"
    said = produced({"t": {0: rejected((0, f"odd ({hint})"))}})
    assert (
        conversation
        >> client(asked_of(NOW_MS * 1_000_000 + 1))
        << to_client(said)
        << booked("rejected", reason=Reason.TOO_FAR_AHEAD, unit_guess=UnitGuess.NANOSECONDS)
    )


NOT_ASKED = {
    "too far ahead": batch([GOOD, NOW_MS + 2 * HOUR_MS]),
    "bit 6": batch([GOOD], attributes=0x40),
    "records that cannot be read": batch([GOOD], records_count=2),
}


@pytest.mark.parametrize("data", NOT_ASKED.values(), ids=NOT_ASKED)
def test_a_rule_is_not_asked_about_a_batch_that_is_rejected_without_it(data):
    """Its failure would be logged and counted, though it changed nothing, and the loop would wait for it."""
    limited = view(Raises(), OnError.OPEN, limits=TopicLimits(after_max_ms=HOUR_MS))
    [answered, rejection] = Session(PEER, limited).client_bytes(produce({"t": {0: data}}), NOW_MS)
    assert isinstance(answered, SendToClient)
    assert rejection.outcome.reason is not Reason.CUSTOM_RULE


def test_a_rule_is_not_asked_where_brokers_write_their_own_times():
    stamped = TopicLimits(TimestampType.LOG_APPEND_TIME)
    sent = asked_of(GOOD, BAD)
    [goes] = Session(PEER, view(Raises(), limits=stamped)).client_bytes(sent, NOW_MS)
    assert goes.data == sent


def test_a_batch_with_another_fault_gets_the_brokers_answer_whatever_the_rule_says():
    """If the rule accepts it, it is forwarded, and the broker finds the wrong checksum."""
    sent = produce({"t": {0: batch([BAD], crc=1)}})
    [answered, rejection] = Session(PEER, view(RejectsOdd())).client_bytes(sent, NOW_MS)
    assert isinstance(answered, SendToClient)
    assert rejection.outcome.error_code == ErrorCode.CORRUPT_MESSAGE
    [goes] = Session(PEER, view(answers())).client_bytes(sent, NOW_MS)
    assert goes.data == sent


def test_in_audit_it_is_only_counted():
    asked, said = asked_of(GOOD, BAD), produced({"t": {0: accepted()}})
    conversation = Conversation(view(RejectsOdd(), mode=Mode.AUDIT)) >> forwarded(asked)
    assert conversation >> returned(said) << booked("accepted", would_reject=True, rule="own")


def failed_facts(fail):
    """The facts of a failure: the rule of the file, and the code that it calls."""
    line = Raises.culprits.__code__.co_firstlineno + 1
    error = f"ZeroDivisionError at test_custom_rules.py:{line}"
    return {"rule": "own", "name": "it", "error": error, "fail": fail, "topic": "t", "client_id": "app"}


def test_a_rule_that_raises_rejects_where_it_fails_closed():
    text = "The proxy's rule own raised an error, so the batch was rejected"
    said = produced({"t": {0: {"error_code": 87, "error_message": text}}})
    conversation = Conversation(view(Raises())) >> client(asked_of(GOOD)) << to_client(said)
    conversation = conversation << booked("rejected", reason=Reason.CUSTOM_RULE, bad_records=1)
    assert conversation << warned("rule_failed", facts=failed_facts("closed"))


def test_and_lets_pass_where_it_fails_open():
    asked = asked_of(GOOD)
    conversation = Conversation(view(Raises(), OnError.OPEN)) >> client(asked)
    assert conversation << to_broker(asked) << warned("rule_failed", facts=failed_facts("open"))


def test_a_failure_names_the_line_of_the_rules_own_module_and_no_value():
    class Parses:
        def culprits(self, timestamps_ms, context):
            return datetime.fromisoformat(context.client_id)

    line = Parses.culprits.__code__.co_firstlineno + 1
    answer = consult(CustomRule("it", Parses()), [NOW_MS], rule_context(client_id="secret"))
    assert answer.failure == f"ValueError at test_custom_rules.py:{line}"


def test_an_error_in_code_that_a_rule_is_made_of_names_that_code():
    rule = SimpleNamespace(culprits=lambda timestamps_ms, context: json.loads("{"))
    failure = consult(CustomRule("it", rule), [NOW_MS], rule_context()).failure
    assert re.fullmatch(r"JSONDecodeError at decoder\.py:\d+", failure)


def test_the_check_for_authors_shows_the_rules_own_error():
    with pytest.raises(AssertionError, match="ZeroDivisionError at ") as found:
        check_rule(Raises())
    assert isinstance(found.value.__cause__, ZeroDivisionError)
    with pytest.raises(AssertionError, match="ZeroDivisionError at "):
        rejected_by(Raises(), [NOW_MS], FakeClock())


class NeverEnds:
    def culprits(self, timestamps_ms, context):
        while True:
            yield 0, "odd"


class Leaves:
    def __init__(self, error):
        self.error = error

    def culprits(self, timestamps_ms, context):
        raise self.error


class Panic(BaseException):
    """The error of a panic in Rust is no Exception, either."""


class HasNoReason(RejectsOdd):
    @property
    def reason(self):
        raise Panic


class HasEverything(Leaves):
    def __getattr__(self, name):
        return self


def test_a_rule_may_quote_a_name_that_is_no_utf_8():
    class Quotes:
        def culprits(self, timestamps_ms, context):
            return [(0, f"from {context.client_id}")]

    [answered, *_] = Session(PEER, view(Quotes())).client_bytes(
        asked_of(GOOD).replace(b"app", b"a\xffp"), NOW_MS
    )
    assert isinstance(answered, SendToClient)
    assert b"from a\xffp" in answered.data


def test_a_rule_cannot_change_the_times_that_others_get():
    class Sorts:
        def culprits(self, timestamps_ms, context):
            timestamps_ms.sort()
            return ()

    times = [GOOD, BAD, GOOD]
    assert "AttributeError" in consult(CustomRule("it", Sorts()), times, rule_context()).failure
    assert times == [GOOD, BAD, GOOD]


WRONG = {
    "without an end": NeverEnds(),
    "to leave": Leaves(SystemExit("not from in here")),
    "a panic": Leaves(Panic()),
    "a stop of the caller": Leaves(asyncio.CancelledError()),
    "no reason": HasNoReason(),
    "itself as what it wraps": HasEverything(ValueError()),
    "a record that is not there": answers((1, "x")),
    "one before the first": answers((-1, "x")),
    "a position that is no whole number": answers((0.9, "x")),
    "one twice": answers((0, "x"), (0, "y")),
    "no pairs": answers(7),
    "a text that is no str": answers((0, 42)),
    "a text that nobody can send": answers((0, "half of a character: \ud83d")),
    "no list": answers.__get__(None, type(None)),
}


@pytest.mark.parametrize("rule", WRONG.values(), ids=WRONG)
def test_an_answer_that_no_rule_may_give_is_a_failure(rule):
    answer = consult(CustomRule("it", rule), [NOW_MS], rule_context())
    assert (bool(answer.failure), answer.rule.name) == (True, "it")


def test_bounds_that_raise_are_none_and_only_an_interrupt_passes():
    class Bounded(Leaves):
        def bounds(self):
            raise self.error

    assert bounds_of(CustomRule("it", Bounded(Panic()))) is None
    stopped = CustomRule("it", Bounded(KeyboardInterrupt()))
    for call in (bounds_of, lambda rule: consult(rule, [NOW_MS], rule_context())):
        with pytest.raises(KeyboardInterrupt):
            call(stopped)


def test_a_rule_is_asked_for_one_name_more_than_there_are_records_and_no_further():
    named = []

    class Counts:
        def culprits(self, timestamps_ms, context):
            for index in range(10):
                named.append(index)
                yield index, "no"

    answer = consult(CustomRule("own", Counts()), [GOOD, BAD], rule_context())
    assert (answer.failure is not None, named) == (True, [0, 1, 2])


def test_of_a_long_text_a_client_gets_the_beginning():
    found = consult(CustomRule("it", answers((0, "x" * 1_001))), [NOW_MS], rule_context())
    assert found.culprits == ((0, "x" * 1_000),)


def test_the_documents_rule_keeps_to_what_rules_must():
    found: dict = {}
    exec(CUSTOM_RULE, found)  # the code that the document shows
    check_rule(found["InOrder"]())
    check_rule(BoundedOdd())


def test_the_documents_test_of_it_passes(tmp_path, monkeypatch):
    install(tmp_path, CUSTOM_RULE)
    monkeypatch.syspath_prepend(tmp_path)
    found: dict = {}
    exec(OWN_TEST, found)  # as the document shows it
    found["test_in_order"]()


@pytest.mark.parametrize("of", [RuleContext, TopicLimits])
def test_the_page_names_whatever_a_rule_gets(of):
    page = (Path(__file__).parents[2] / "docs" / "guide" / "how-to" / "write-a-rule.md").read_text(
        encoding="utf-8"
    )
    table = page.partition("| `context.` |")[2].partition("\n\n")[0]
    assert {field.name for field in fields(of)} <= set(re.findall(r"`(\w+)`", table))


def test_a_clock_that_is_moved_moves_what_a_rule_is_told():
    clock = FakeClock()
    times = batch_times(clock, 1, None)
    assert rejected_by(BoundedOdd(), times, clock) == {}
    clock.advance(-2_000)
    assert rejected_by(BoundedOdd(), times, clock) == {0: "odd"}
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        rejected_by(Raises(), times, clock)


class PromisesTooMuch(RejectsOdd):
    def bounds(self):
        return 1000, 1000


class Promises:
    """Without an answer about most batches, so that only the check of its bounds finds it."""

    def __init__(self, culprits):
        self.culprits = culprits

    def bounds(self):
        return 1000, 1000


REJECTS, FAILS = ((0, "odd"),), ((-1, "odd"),)
PROMISED_TOO_MUCH = {
    "to clients that have logged in": lambda _, context: REJECTS if context.principal is None else (),
    "to clients with a client id": lambda _, context: REJECTS if context.client_id is None else (),
    "to libraries with a name": lambda _, context: REJECTS if context.client_software is None else (),
    "to one network": lambda _, context: REJECTS if ":" in context.client_address else (),
    "to one topic": lambda _, context: REJECTS if context.topic != "orders" else (),
    "to one partition": lambda _, context: REJECTS if context.partition else (),
    "in one partition, after a login": lambda _, context: (
        REJECTS if context.principal is None and context.partition == 0 else ()
    ),
    "while limits are known": lambda _, context: REJECTS if context.limits is None else (),
    "while limits are wide": lambda _, context: (
        REJECTS if context.limits and context.limits.after_max_ms is not None else ()
    ),
    "until a date": lambda times, _: REJECTS if max(times) > NOW_MS + 200 * DAY_MS else (),
    "to small batches": lambda times, _: REJECTS if len(times) > 20 else (),
    "and fails later": lambda _, context: FAILS if context.now_ms != NOW_MS else (),
}


@pytest.mark.parametrize(
    ("rule", "complaint"),
    [
        (Raises(), "ZeroDivisionError"),
        (Remembers(), "remember nothing"),
        (answers((60, "x")), "not there"),
        (answers((0, 42)), "the text of record 0 is of type int, not str"),
        (PromisesTooMuch(), "within its own bounds"),
        *[(Promises(answer), "within its own bounds") for answer in PROMISED_TOO_MUCH.values()],
        (Sleeps(), "ms a batch"),
    ],
)
def test_the_check_for_authors_finds_what_is_wrong(rule, complaint, monkeypatch):
    monkeypatch.setenv("CI", "true")  # pytest then shows how values differ, whole: minutes for long lists
    with pytest.raises(AssertionError, match=re.escape(complaint)):
        check_rule(rule)


def test_a_batch_that_cannot_be_read_is_rejected_where_only_a_custom_rule_judges_its_times():
    asked = produce({"t": {0: batch([GOOD], records_count=2)}})
    conversation = Conversation(view(RejectsOdd())) >> client(asked)
    said = produced({"t": {0: {"error_code": 87}}})
    assert conversation << to_client(said) << booked("rejected", reason=Reason.BAD_RECORD)


def test_the_unit_is_guessed_for_the_first_culprit_and_only_where_the_size_is_the_reason():
    micros = NOW_MS * 1000

    class TooFar:
        reason = "too_far_ahead"

        def culprits(self, timestamps_ms, context):
            return [(0, "far"), (1, "far")]

    conversation = Conversation(view(TooFar())) >> client(asked_of(micros, GOOD))
    said = produced({"t": {0: rejected((0, "far"), (1, "far"))}})
    assert conversation << to_client(said) << booked("rejected", unit_guess="microseconds")
    conversation = Conversation(view(answers((0, "odd")))) >> client(asked_of(micros))
    said = produced({"t": {0: rejected((0, "odd"))}})
    assert conversation << to_client(said) << booked("rejected", unit_guess=None)

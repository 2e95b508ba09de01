"""The invariants of a world that is over: `check_connection` and `check_leftovers`.

`history.py` has the invariants that are seen to hold, or not, while a connection lasts.
"""

from collections.abc import Iterable

from rigs.simulated.history import History
from rigs.simulated.requests import PLANTED, UNKNOWN, Asked, Kind
from rigs.simulated.violations import ViolationError
from tests.planted import traces
from tests.session.conversation import NOW_MS, id_of
from tsproxy.decisions import DecisionLog
from tsproxy.decisions.totals import Totals
from tsproxy.model.kafka import unnamed_topic
from tsproxy.model.outcome import VerdictName

_UNNAMED = unnamed_topic(id_of(UNKNOWN))


def check_connection(history: History, consumed: int, *, in_peace: bool, has_drained: bool) -> None:
    """`consumed`: so many of the client's bytes the proxy has read. `in_peace`: the proxy had no reason to
    end a connection whose peers did nothing wrong. `has_drained`: it took no more requests at some moment,
    but what had reached the broker by then was answered."""
    taken = [one for one in history.asked if one.ends_at <= consumed or one.is_damaged]
    _check_client(history)
    _check_outcomes(history, taken)
    _check_counts(history, taken)
    if history.faults == ["broker ends"] and in_peace:  # in good order: its last whole answers arrive
        _check_answered(history, history.written)
    if in_peace and not has_drained:
        _check_due(history)
    if history.faults == ["broker resets"] and in_peace:  # while an answer was read, which arrives
        _check_answered(
            history, [one for one in history.asked if one.correlation_id == history.due_at_client]
        )
    if history.faults or not in_peace:
        return
    if history.cut_short:
        raise ViolationError("answer_cut_short", f"client {history.number}")
    _check_answered(history, [one for one in history.at_broker if one.wants_answer])
    if not has_drained:
        _check_finished(history, consumed)


def _check_due(history: History) -> None:
    """The request that had been read whole when the client was lost comes to the broker."""
    due, ends_at = history.due_at_broker, history.ends_at
    is_due = due is not None and (ends_at is None or history.asked.index(due) < ends_at)
    only_client = history.faults == history.faults_of("client") and not history.gave_up
    if is_due and only_client and due not in history.at_broker:
        raise ViolationError("accepted_lost", f"{due} was read before its client was lost")


def _check_outcomes(history: History, taken: list[Asked]) -> None:
    """Each outcome is of a batch that was sent, once, and says what became of it."""
    by_id = {one.correlation_id: one for one in taken}
    seen = set()
    for outcome in history.outcomes:
        topic = UNKNOWN if outcome.topic == _UNNAMED else outcome.topic
        place = (outcome.correlation_id, topic, outcome.partition)
        one = by_id.get(outcome.correlation_id)
        if one is None or place[1:] not in one.batches:
            raise ViolationError("booked_unknown", str(place))
        if place in seen:
            raise ViolationError("booked_twice", str(place))
        seen.add(place)
        if not (one.is_damaged or _is_true(outcome.verdict, history, place, one.batches[place[1:]].kind)):
            raise ViolationError("booked_falsely", f"{place} of {one} as {outcome.verdict}")


def _is_true(verdict: VerdictName, history: History, place: tuple[int, str, int], kind: Kind) -> bool:
    """A broker that lies may have what it likes booked, but for a rejection of ours."""
    stored = history.stored.get(place)
    match verdict:
        case VerdictName.REJECTED:
            return stored is None and kind is not Kind.GOOD
        case VerdictName.ACCEPTED:
            return history.broker_lies or (stored is not None and stored[0] == 0)
        case VerdictName.BROKER_REJECTED:
            return history.broker_lies or (stored is not None and stored[0] != 0)
    return True


def _check_counts(history: History, taken: list[Asked]) -> None:
    """No batch is booked twice, and none that somebody saw is missing, whichever way it was counted."""
    booked = dict.fromkeys(VerdictName, 0)
    for outcome in history.outcomes:
        booked[outcome.verdict] += 1
    for totals in history.totals:
        booked[totals.key.verdict] += totals.batches
    rejected, accepted = booked[VerdictName.REJECTED], booked[VerdictName.ACCEPTED]
    forwarded = sum(booked.values()) - rejected
    sent = sum(len(one.batches) for one in taken)
    may_be_rejected = sent - sum(_count(one, Kind.GOOD) for one in taken if not one.is_damaged)
    stored = len(history.stored)
    for name, least, count, most in (
        ("booked_accepted", history.told_accepted, accepted, _accepted_at_most(history)),
        ("booked_rejected", history.told_rejected_here, rejected, may_be_rejected),
        ("booked_forwarded", stored, forwarded, sent - history.told_rejected_here),
        ("booked_all", stored + history.told_rejected_here, forwarded + rejected, sent),
    ):
        if not least <= count <= most:
            raise ViolationError(name, f"{count}, where {least} to {most} were seen ({booked})")


def _accepted_at_most(history: History) -> int:
    """The batches that the broker has told whole answers about."""
    if history.broker_lies:
        return len(history.stored)
    places = ((one.correlation_id, *place) for one in history.written for place in one.batches)
    return sum(history.stored[place][0] == 0 for place in places if place in history.stored)


def _check_client(history: History) -> None:
    """Each outcome is booked for the client that sent the batch."""
    for peer in {each.peer for each in (*history.outcomes, *history.totals)}:
        if (peer.client_id, peer.principal) != (history.client_id, history.principal):
            raise ViolationError("booked_for_another", f"{peer}, not {history.principal}")


def _count(one: Asked, kind: Kind) -> int:
    return sum(each.kind is kind for each in one.batches.values())


def _check_answered(history: History, wanted: Iterable[Asked]) -> None:
    answered = set(history.answered)
    if missing := [str(one) for one in wanted if one not in answered]:
        raise ViolationError("answer_lost", f"client {history.number}: {missing[:3]}")


def _check_finished(history: History, consumed: int) -> None:
    """All requests were answered and all good ones stored, up to one with acks=0 that may be rejected."""
    asked = history.asked
    ends = history.ends_at
    certain = asked if ends is None else asked[:ends]
    _check_answered(history, [one for one in certain if one.wants_answer])
    at_broker = set(history.at_broker)
    for one in certain:
        if not one.is_local and one not in at_broker and _count(one, Kind.GOOD) == len(one.batches):
            raise ViolationError("accepted_lost", f"{one} never came to the broker")
    if ends is None:
        total = sum(len(one.batches) for one in asked)
        booked = len(history.outcomes) + sum(totals.batches for totals in history.totals)
        if (asked and consumed != asked[-1].ends_at) or booked != total:
            raise ViolationError("not_booked", f"{booked} of {total} batches")


def check_leftovers(world) -> None:
    """Nothing of any connection is left: no task, no timer, no transport, no count, no byte."""
    left = {
        "relays": len(world.listener.relays),
        "tasks": len(world.loop.unfinished_tasks()),
        "timers": len(world.loop.timers()),
        "links": sum(link.times_lost == 0 for link in world.network.links),
        "addresses": len(world.limits.admission.by_address),
        "held bytes": world.limits.memory.held_bytes,
        "waiting judgements": world.judges.waiting,
        "abandoned bytes": world.judges.abandoned_bytes,
    }
    if left := {what: count for what, count in left.items() if count}:
        examples = [*world.loop.timers()[:2], *world.loop.unfinished_tasks()[:2]]
        raise ViolationError("left_behind", f"{left} {examples}")
    if twice := [link for link in world.network.links if link.times_lost > 1]:
        raise ViolationError("lost_twice", f"{len(twice)} links")
    if world.loop.complaints:
        raise ViolationError("loop_complained", str(world.loop.complaints[0]))
    _check_secrets(world)
    if crashed := [line for line in world.logged if line["event"].endswith("_crashed")]:
        raise ViolationError("crashed", str(crashed[0]))


def _check_secrets(world) -> None:
    """No log line, line of the decision log or text of an end has anything of a login or of a record."""
    log = DecisionLog("proxy", "boot", NOW_MS)
    lines = [
        line
        for client in world.clients
        for each in client.history.outcomes
        for line in log.book(Totals.of(each))
    ]
    told = {"log": world.logged, "decision log": [*lines, *log.stop(NOW_MS)], "loop": world.loop.complaints}
    for place, all_lines in told.items():
        if found := traces(all_lines, PLANTED):
            raise ViolationError("secret_told", f"{found[0]}, in the {place}")

"""The invariants of a simulated world, and the names of what breaks each of them."""

from typing import Final

INVARIANTS: Final = {
    "No forbidden batch reaches a broker, and no good one is rejected.": (
        *("forbidden_forwarded", "good_not_forwarded", "good_rejected"),
    ),
    "A request is forwarded whole, once, in its order and byte for byte. Only rejected batches are "
    "removed.": (
        *("forwarded_changed", "forwarded_out_of_order", "forwarded_unknown", "forwarded_unreadable"),
        *("forwarded_unsupported", "frame_cut_short"),
    ),
    "Answers leave in the order of their requests, and say of each batch what the broker said.": (
        *("answered_out_of_order", "answered_falsely", "answered_without_broker", "answer_unreadable"),
    ),
    "A connection whose peers do nothing wrong has all its answers. This holds through reloads, and through "
    "a drain for what had reached the broker.": (
        *("answer_lost", "answer_cut_short", "accepted_lost", "unanswered", "reset_by_proxy"),
    ),
    "Each batch is booked once, as what became of it, for the client that sent it.": (
        *("booked_twice", "booked_falsely", "booked_unknown", "booked_for_another", "booked_accepted"),
        *("booked_rejected", "booked_forwarded", "booked_all", "not_booked"),
    ),
    "Nothing but the login passes before the login. No address of a broker reaches a client. Nothing of a "
    "password or of a record's value is in the log, in the decision log or in an answer, in any form "
    "(`tests/planted.py`).": ("forwarded_before_login", "address_leaked", "secret_told"),
    "Each connection ends, once, soon after its client is gone or sends no more, and leaves no task, timer, "
    "transport, count or byte behind.": (
        *("never_ends", "lingers", "half_closed_for_ever", "left_behind", "lost_twice"),
    ),
    "The product raises nothing that it does not handle.": ("crashed", "loop_complained", "raised"),
}
"""Invariant -> the names of its violations."""

_NAMES: Final = {name for names in INVARIANTS.values() for name in names}


class ViolationError(Exception):
    """An invariant does not hold. `name` says in which way: it is one of `INVARIANTS`."""

    def __init__(self, name: str, text: str) -> None:
        if name not in _NAMES:
            raise ValueError(f"{name} is no violation of an invariant: add it to INVARIANTS")
        super().__init__(f"{name}: {text}")
        self.name = name


def as_table() -> str:
    """INVARIANTS as Markdown."""
    rows = [f"| {text} | {', '.join(f'`{name}`' for name in names)} |" for text, names in INVARIANTS.items()]
    return "\n".join(["| invariant | violation |", "| --- | --- |", *rows]) + "\n"

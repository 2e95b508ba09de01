"""In tests, a line of the operators' log may only have the fields that its event's row names."""

from collections.abc import Mapping

from tsproxy.log_events.event import LogEvent
from tsproxy.proxy.notes import Notes


class UnknownFieldError(AssertionError):
    """A line has a field that its event does not name."""


def check(event: LogEvent, facts: Mapping[str, object]) -> None:
    if unknown := facts.keys() - set(event.fields):
        raise UnknownFieldError(f"{event.name} has no field {sorted(unknown)}")


def check_all_lines() -> None:
    """Check every line that this process, and its forks, write from now on."""
    write_line, write_note = LogEvent.__call__, Notes.write

    def checked_line(self: LogEvent, **facts: object) -> None:
        check(self, facts)
        write_line(self, **facts)

    def checked_note(self: Notes, address: str, event: LogEvent, facts: Mapping[str, object]) -> None:
        check(event, {**facts, "suppressed": 0})
        write_note(self, address, event, facts)

    LogEvent.__call__ = checked_line  # type: ignore[method-assign]  # in tests alone
    Notes.write = checked_note  # type: ignore[method-assign]  # in tests alone

"""In tests, a line of the operators' log may only have the fields that its event's row names."""

from collections.abc import Iterable, Mapping

from tsproxy.log_events.catalogue import BY_NAME, LogEvent
from tsproxy.proxy.notes import Notes
from tsproxy.testing.proxy import RunningProxy

EVERY_LINE = {"timestamp", "level", "event", "worker"}
"""The fields that a line has beside those of its event."""


class UnknownFieldError(AssertionError):
    """A line has a field that its event does not name."""


def check(event: LogEvent, facts: Mapping[str, object]) -> None:
    if unknown := facts.keys() - set(event.fields):
        raise UnknownFieldError(f"{event.name} has no field {sorted(unknown)}")


def check_log(lines: Iterable[Mapping[str, object]]) -> None:
    """Check the parsed lines of a proxy."""
    for line in lines:
        if event := BY_NAME.get(str(line["event"])):
            check(event, dict.fromkeys(line.keys() - EVERY_LINE))


def check_all_lines() -> None:
    """Check every line that this process writes from now on, and those of each proxy that it waits for."""
    write_line, write_note, wait = LogEvent.__call__, Notes.write, RunningProxy.wait

    def checked_line(self: LogEvent, **facts: object) -> None:
        check(self, facts)
        write_line(self, **facts)

    def checked_note(self: Notes, address: str, event: LogEvent, facts: Mapping[str, object]) -> None:
        check(event, {**facts, "suppressed": 0})
        write_note(self, address, event, facts)

    async def checked_wait(self: RunningProxy) -> int:
        status = await wait(self)
        check_log(self.log)
        return status

    LogEvent.__call__ = checked_line  # type: ignore[method-assign]  # in tests alone
    Notes.write = checked_note  # type: ignore[method-assign]  # in tests alone
    RunningProxy.wait = checked_wait  # type: ignore[method-assign]  # in tests alone

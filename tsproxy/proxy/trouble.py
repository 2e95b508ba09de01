"""Logs an operation that may fail for a while: one line when it fails, one when it works again."""

from tsproxy.log_events.catalogue import LogEvent


class Trouble:
    """One operation. `text` is its current problem; None if there is none. `is_up` is True if the last
    attempt succeeded.

    With `logs_changes`, a new text gets a line of its own while the problem lasts.
    """

    __slots__ = ("_failed", "_logs_changes", "_resumed", "is_up", "text")

    def __init__(self, failed: LogEvent, resumed: LogEvent | None, *, logs_changes: bool = False) -> None:
        self._failed = failed
        self._logs_changes = logs_changes
        self._resumed = resumed
        self.is_up = False
        self.text: str | None = None

    def failed(self, error: Exception | str, **facts: object) -> None:
        text = str(error) or type(error).__name__
        if self.text is None or (self._logs_changes and text != self.text):
            self._failed(error=text, **facts)
        self.is_up, self.text = False, text

    def over(self, **facts: object) -> None:
        if self.text is not None and self._resumed is not None:
            self._resumed(**facts)
        self.is_up, self.text = True, None

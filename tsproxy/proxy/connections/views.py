"""The newest view of a listener, and the views that its connections have taken: `Views`.

Any client can cause a new view by naming a topic, and there may be ten thousand connections. So a connection
takes the newest view when its next bytes come, and only those that wait for one get it at once. Until then
the connection's fast path forwards and rejects nothing: it compares its number with that of the newest view.

A connection keeps the view that it has taken last, and a view may have 50,000 topics. So at most MAX_TAKEN
views are kept. Beyond that, the connections of the view that fewest have taken get the newest one.
"""

from dataclasses import dataclass, field
from typing import Final, Protocol

from tsproxy.fastpath import Newest
from tsproxy.model.view import Unchanged, View
from tsproxy.session.events import ViewChanged

MAX_TAKEN: Final = 16


class TakesViews(Protocol):
    """A connection of the listener."""

    view_number: int
    """The number of the view that it has taken."""

    def take_view(self) -> None:
        """Take the newest view now, by `Views.take`."""


@dataclass(slots=True)
class _Taken:
    view: View
    by: dict[TakesViews, None] = field(default_factory=dict)
    unchanged: Unchanged | None = None
    """The comparison with the newest view. The connections share it."""


class Views:
    def __init__(self, view: View) -> None:
        self.newest = Newest()
        self._taken = {self.newest.number: _Taken(view)}
        self._waiting: dict[TakesViews, None] = {}

    @property
    def view(self) -> View:
        return self._taken[self.newest.number].view

    def join(self, connection: TakesViews) -> int:
        """A new connection has the newest view. Returns the view's number."""
        self._taken[self.newest.number].by[connection] = None
        return self.newest.number

    def leave(self, connection: TakesViews) -> None:
        self._waiting.pop(connection, None)
        self._let_go(connection)

    def waits(self, connection: TakesViews, is_waiting: bool) -> None:
        """Whether the connection holds a request or an answer until a view lets it go on."""
        if is_waiting:
            self._waiting[connection] = None
        else:
            self._waiting.pop(connection, None)

    def renew(self, view: View) -> None:
        before = self.newest.number
        self.newest.number += 1
        self._taken[self.newest.number] = _Taken(view)
        if not self._taken[before].by:
            del self._taken[before]
        for taken in self._taken.values():
            taken.unchanged = None
        for connection in tuple(self._waiting):  # a held answer may be the last one of a connection
            connection.take_view()
        while len(self._taken) > MAX_TAKEN:
            older = (taken for number, taken in self._taken.items() if number != self.newest.number)
            for connection in tuple(min(older, key=lambda taken: len(taken.by)).by):
                connection.take_view()

    def take(self, connection: TakesViews) -> ViewChanged | None:
        """The newest view for a connection that has an older one, else None."""
        if connection.view_number == self.newest.number:
            return None
        taken = self._taken[connection.view_number]
        if taken.unchanged is None:
            taken.unchanged = Unchanged(taken.view, self.view)
        self._let_go(connection)
        connection.view_number = self.join(connection)
        return ViewChanged(self.view, taken.unchanged)

    def _let_go(self, connection: TakesViews) -> None:
        number = connection.view_number
        taken = self._taken[number]
        taken.by.pop(connection, None)
        if not taken.by and number != self.newest.number:
            del self._taken[number]

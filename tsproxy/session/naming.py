"""The request of one session that waits for the names or the limits of its topics: `Naming`.

`session.topic_names` says which names a request waits for, and for how long.

Without a topic's limits the proxy judges next to nothing. A job that sends one batch a night to a topic would
never be counted. So the first request to such a topic waits for the limits as it does for names, and is then
judged by what is known. A request that would be rejected by old limits waits for fresh ones
(`session.fresh_limits`), and so does one that a preset alone would reject.
"""

from collections.abc import Collection
from dataclasses import replace

from tsproxy.model.produce import ProduceRequest, TopicKey
from tsproxy.session.budget import Request
from tsproxy.session.deadlines import Wait
from tsproxy.session.effects import CloseReason, Count, SessionCounter, TopicWanted
from tsproxy.session.state import State
from tsproxy.session.states import Cause, SessionState
from tsproxy.session.topic_names import (
    MAX_WAITED_FOR,
    NAME_WAIT_MS,
    is_awaited,
    is_denied,
)
from tsproxy.session.verdict import RequestVerdict
from tsproxy.wire.k00_produce import TopicNames


class Naming:
    """Holds at most one request."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._held: tuple[Request, frozenset[TopicKey]] | None = None
        self._old: frozenset[str] = frozenset()
        """The topics of the held request that have old limits."""

    @property
    def names(self) -> TopicNames:
        """The names by which a request is judged now."""
        return self._state.ids_given_up.names(self._state.view, self._state.deadlines.now_ms)

    def must_wait(self, request: Request, asked: ProduceRequest) -> bool:
        """True if the request is held until its names and limits come. `asked` is the decoded request. It
        waits for a few at a time, and then for the next ones."""
        state, view = self._state, self._state.view
        ids, topics = state.ids_given_up.missing(asked, view), state.topics_given_up.missing(asked, view)
        if not (ids or topics) or self._has_waited(request):
            return False
        self._hold(request, ids, topics)
        return True

    def must_wait_for_fresh(self, request: Request, old: frozenset[str], now_ms: int) -> bool:
        """True if the request is held until the limits of the topics in `old` are fresh. They include topics
        that an earlier request waited for in vain, but none that this one did."""
        if self._has_waited(request):
            old = frozenset(topic for topic in old if not is_awaited(topic, self._state.view))
        if not self._may_become_fresh(old, now_ms):
            return False
        self._old = frozenset(sorted(old)[:MAX_WAITED_FOR])
        self._hold(replace(request, wait_ends_ms=None), frozenset(), self._old)
        return True

    def _has_waited(self, request: Request) -> bool:
        return request.wait_ends_ms is not None and request.wait_ends_ms <= self._state.deadlines.now_ms

    def _hold(self, request: Request, ids: frozenset[bytes], topics: frozenset[str]) -> None:
        state, ends_ms = self._state, request.wait_ends_ms
        now_ms, is_first = state.deadlines.now_ms, ends_ms is None
        if ends_ms is None:
            ends_ms = now_ms + NAME_WAIT_MS
        self._held = replace(request, wait_ends_ms=ends_ms), ids | topics
        state.hold_request(Cause.UNNAMED, len(request.frame))
        state.deadlines.start(Wait.NAME, ends_ms - now_ms)
        state.effects += [TopicWanted(topic_id) for topic_id in sorted(ids)]
        state.effects += [TopicWanted(topic) for topic in sorted(topics)]
        state.effects += [Count(SessionCounter.TOPIC_NAME_WAITS)] if ids and is_first else []
        state.effects += [Count(SessionCounter.TOPIC_LIMITS_WAITS)] if topics and is_first else []

    def _may_become_fresh(self, topics: Collection[str], now_ms: int) -> bool:
        view, fresh = self._state.view, self._state.fresh_limits
        return any(
            is_awaited(topic, view)
            or (view.reads_limits and topic not in view.unreadable_topics and fresh.is_awaited(topic, now_ms))
            for topic in topics
        )

    def looked(self, now_ms: int) -> Request | None:
        """The held request, if none of the names and limits that it waits for may still come."""
        view = self._state.view
        if self._held is None or any(is_awaited(topic, view) for topic in self._held[1]):
            return None
        return None if self._may_become_fresh(self._old, now_ms) else self.released()

    def released(self) -> Request | None:
        """The held request: its wait is over."""
        if self._held is None:
            return None
        (request, missing), self._held, self._old = self._held, None, frozenset()
        late = (topic for topic in missing if isinstance(topic, str) and is_awaited(topic, self._state.view))
        self._state.topics_given_up.add(late)
        self._state.deadlines.cancel(Wait.NAME)
        self._state.release_request(Cause.NAMED)
        return request

    def forget(self) -> None:
        """The session is over: release the held request with its bytes at once."""
        self._held = None

    def judged(self, verdict: RequestVerdict) -> None:
        """Want the names that this request lacked: the client sends these batches again."""
        if unnamed := verdict.unnamed_topics:
            self._state.ids_given_up.add(unnamed, self._state.deadlines.now_ms)
            self._state.effects += [TopicWanted(topic_id) for topic_id in unnamed[:MAX_WAITED_FOR]]

    def end_if_denied(self, verdict: RequestVerdict) -> None:
        """End the connection if the client names a topic by an id whose name the proxy may not ask for. Its
        next connection is offered versions in which requests name their topics."""
        state = self._state
        if any(is_denied(topic_id, state.view) for topic_id in verdict.unnamed_topics):
            state.names_only.add(state.peer.client_address)
            if not state.is_closed and state.current is not SessionState.ENDING:
                state.end(CloseReason.UNSUPPORTED_REQUEST, "a topic id whose name the proxy may not ask for")

"""The request of one session that waits for the names or the limits of its topics: `Naming`.

`session.topic_names` says which names a request waits for, and for how long.

Without a topic's limits the proxy judges next to nothing. A job that sends one batch a night to a topic would
never be counted. So the first request to such a topic waits for the limits as it does for names, and is then
judged by what is known. A request that would be rejected by old limits waits for fresh ones
(`session.fresh_limits`).
"""

from collections.abc import Collection
from typing import Generic, TypeVar

from tsproxy.model.produce import ProduceRequest, TopicKey
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

R = TypeVar("R")


class Naming(Generic[R]):
    """Holds at most one request."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._held: tuple[R, frozenset[TopicKey]] | None = None
        self._old: frozenset[str] = frozenset()
        """The topics of the held request that have old limits."""

    @property
    def names(self) -> TopicNames:
        """The names by which a request is judged now."""
        return self._state.ids_given_up.names(self._state.view, self._state.deadlines.now_ms)

    def must_wait(self, request: R, asked: ProduceRequest, size: int) -> bool:
        """True if the request is held until its names and limits come. `asked` is the decoded request, `size`
        the size of its frame."""
        state, view = self._state, self._state.view
        ids, topics = state.ids_given_up.missing(asked, view), state.topics_given_up.missing(asked, view)
        missing: frozenset[TopicKey] = ids | topics
        if not missing:
            return False
        self._hold(request, ids, topics, size)
        return True

    def must_wait_for_fresh(self, request: R, old: frozenset[str], size: int, now_ms: int) -> bool:
        """True if the request is held until the limits of the topics in `old` are fresh."""
        if not self._may_become_fresh(old, now_ms):
            return False
        self._old = frozenset(sorted(old)[:MAX_WAITED_FOR])
        self._hold(request, frozenset(), self._old, size)
        return True

    def _hold(self, request: R, ids: frozenset[bytes], topics: frozenset[str], size: int) -> None:
        state = self._state
        self._held = request, ids | topics
        state.hold_request(Cause.UNNAMED, size)
        state.deadlines.start(Wait.NAME, NAME_WAIT_MS)
        state.effects += [TopicWanted(topic_id) for topic_id in sorted(ids)]
        state.effects += [TopicWanted(topic) for topic in sorted(topics)]
        state.effects += [Count(SessionCounter.TOPIC_NAME_WAITS)] if ids else []
        state.effects += [Count(SessionCounter.TOPIC_LIMITS_WAITS)] if topics else []

    def _may_become_fresh(self, topics: Collection[str], now_ms: int) -> bool:
        denied, fresh = self._state.view.unreadable_topics, self._state.fresh_limits
        return any(topic not in denied and fresh.is_awaited(topic, now_ms) for topic in topics)

    def looked(self, now_ms: int) -> R | None:
        """The held request, if no name and no limits may still come for it."""
        view = self._state.view
        if self._held is None or any(is_awaited(each, view) for each in self._held[1]):
            return None
        return None if self._may_become_fresh(self._old, now_ms) else self.released()

    def released(self) -> R | None:
        """The held request: its wait is over."""
        if self._held is None:
            return None
        (request, missing), self._held, self._old = self._held, None, frozenset()
        late = (each for each in missing if isinstance(each, str) and is_awaited(each, self._state.view))
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

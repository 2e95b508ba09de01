"""What goes by without a thought: the kernel's lexers, and the table that tells them what is fine.

The session remains the one definition of what the proxy does. It shows the kernel which batches of
which topics it would forward unchanged (`learn`), from then on the kernel lets such requests and the
answers that accept them pass, and counts them. It also says what it rejected (`learn_rejection`): that too
the kernel then does by itself for a few seconds. Whatever else comes, the session decides.

A table holds for one peer, one transactional id and one view: when any of them changes, it is retired
(`forget`), and the next Produce request of each topic takes the long way and makes a row again.
"""

from collections.abc import Callable, Collection, Iterable
from functools import partial
from itertools import islice
from typing import Final

from tsproxy.decisions.drift import EDGES
from tsproxy.model.kafka import Codec, is_topic_name
from tsproxy.model.outcome import Blame, Totals
from tsproxy.model.policy import TopicPolicy
from tsproxy.model.records import RecordFacts
from tsproxy.model.verdict import Reject, TopicLimits
from tsproxy.model.view import SessionLimits
from tsproxy.policy.case import is_rebuilt
from tsproxy.policy.likewise import rejected_likewise
from tsproxy.policy.passing import span_that_passes
from tsproxy.policy.timestamps import out_of_range_pieces
from tsproxy.session.policies import MOST_UNKNOWN, Policies
from tsproxy.session.produce import Ruling
from tsproxy.session.purse import DearError, Purse
from tsproxy.wire.answers import AnswerStream
from tsproxy.wire.apis import APIS
from tsproxy.wire.frames import RequestFrames
from tsproxy.wire.kernel import AnswerLexer, InFlight, Rejecter, Rejection, RequestLexer, Table
from tsproxy.wire.record_batch import read_small

_KEYS: Final = range(max(APIS) + 1)
_ALWAYS_INFLEXIBLE: Final = 255

FLEXIBLE_FROM: Final = bytes(
    min(APIS[key].flexible_from, _ALWAYS_INFLEXIBLE) if key in APIS else _ALWAYS_INFLEXIBLE for key in _KEYS
)


EXAMPLE_EVERY_MS: Final = 5_000
"""How long batches are rejected as one was before: as often, at least, one of them is told of by itself."""

MOST_LEARNT: Final = 100
"""Topics of one request that are learnt, and partitions from which is learnt what may be rejected likewise:
a millisecond or two."""

_PLAIN: Final = Codec.NONE.name.lower()

Silence = Callable[[int, int, int], int | None]
"""(batches, their bytes, now_ms) -> for how many ms a client is to be silent for what was rejected; None
where it should be silent already, and nothing of it is answered now."""


def relayed_but(read: Collection[int]) -> bytes:
    """By API key: how many versions, from 0 on, go by unread, and their answers as well; none of `read`."""
    return bytes(APIS[key].max_version + 1 if key in APIS and key not in read else 0 for key in _KEYS)


class Passing:
    """The kernel of one session. `relayed` is what `relayed_but` made of the session's own routes;
    `limits` bound its frames as they bound the session's; `purse` bounds what it may decompress."""

    def __init__(self, in_flight: InFlight, relayed: bytes, limits: SessionLimits, purse: Purse) -> None:
        self._unfolding = _Unfolding(limits, purse)
        self.request_lexer = RequestLexer(
            in_flight,
            relayed,
            FLEXIBLE_FROM,
            limits.produce_frame,
            limits.other_frame,
            self._unfolding.read,
        )
        self._unfolding.lexer = self.request_lexer
        self.answer_lexer = AnswerLexer(in_flight)
        self.rejecter = Rejecter(self.request_lexer)
        self._retired: list[Table] = []

    def offer(self, oldest: int, newest: int) -> None:
        """Versions of Produce that the broker takes; no other passes."""
        self.request_lexer.oldest_produce, self.request_lexer.newest_produce = oldest, newest

    def requests(self, frames: RequestFrames, room: int, now_ms: int) -> bytes:
        """The requests that come next and may go on, `room` at most; empty where none does."""
        return frames.fine(self.request_lexer, room, now_ms)

    def answers(self, stream: AnswerStream) -> bytes:
        """The answers that come next and may go on; empty where none does."""
        return stream.fine(self.answer_lexer)

    def open(self, most_in_flight: int) -> None:
        """Whole frames may go by without a look at anything but themselves."""
        self.request_lexer.most_in_flight = most_in_flight
        self.request_lexer.is_open = True
        self.answer_lexer.is_open = not self._retired  # what those counted is told when they are answered

    def close(self) -> None:
        """Nothing goes by until the session has seen what comes next."""
        self.request_lexer.is_open = self.answer_lexer.is_open = False

    def learn(self, ruling: Ruling, policies: Policies) -> None:
        """Let requests like this one pass: its topics, as far as their batches were forwarded.

        A topic passes only where two bounds say all that is asked of its times. One of which nobody knows
        whether it exists has to wait for `learn_accepted`: anybody may name as many as he likes.
        """
        table = self._table_for(ruling, policies)
        known = policies.view.topics
        self._add(table, ruling, policies, (j.topic for j in ruling.forwarded if j.topic in known))

    def learn_accepted(self, ruling: Ruling, policies: Policies, topics: Iterable[str]) -> None:
        """The same for `topics` of it of which a broker has taken a batch: these exist."""
        table = self.request_lexer.table
        if table is not None and self._is_for(table, ruling):
            self._add(table, ruling, policies, topics)

    def _add(self, table: Table, ruling: Ruling, policies: Policies, topics: Iterable[str]) -> None:
        """Of very many topics only some are learnt: those that are missing take the long way once more."""
        missing = (topic for topic in dict.fromkeys(topics) if topic not in table)
        for topic in islice(missing, MOST_LEARNT):
            policy = policies.of(topic, ruling.now_ms)  # the ruling's may be that of an earlier view
            span = span_that_passes(policy)
            if span is not None:
                table.add(topic, policy.limits, span.before_max_ms, span.after_max_ms)

    def learn_rejection(self, ruling: Ruling, policies: Policies, silence: Silence | None) -> None:
        """Let requests like this one, none of which was forwarded, be rejected likewise.

        Only for a while: then the next one takes the long way, so that the decision log has examples. Only
        its first partitions: who sends more of them in one request finds no other like it.
        """
        for judged in ruling.rejected[:MOST_LEARNT]:
            verdict, policy = judged.verdict, policies.of(judged.topic, ruling.now_ms)
            if not isinstance(verdict, Reject) or judged.batch.codec != _PLAIN or policy.limits is None:
                continue
            if not self._may_keep(judged.topic, policies):
                continue
            alike = rejected_likewise(policy, verdict, ruling.now_ms, EXAMPLE_EVERY_MS)
            if alike is None:
                continue
            rejection = Rejection(
                topic=judged.topic,
                limits=policy.limits,
                lowest_ms=alike.lowest_ms,
                highest_ms=alike.highest_ms,
                from_ms=alike.from_ms,
                until_ms=alike.until_ms,
                blame=_blame(policy, verdict),
                error_message=verdict.error_message or "",
                culprits_listed=policies.view.limits.culprits_listed,
                pieces_at=partial(out_of_range_pieces, policy.limits),
                silence=silence,
            )
            self._table_for(ruling, policies).reject(rejection)

    def _table_for(self, ruling: Ruling, policies: Policies) -> Table:
        """That of the client as it is in this request, a new one where it was another."""
        table = self.request_lexer.table
        if table is None or not self._is_for(table, ruling):
            self.forget()
            limits = policies.view.limits
            table = Table(ruling.peer, ruling.transactional_id, limits.records_per_batch, EDGES)
            self.request_lexer.table = table
            self._unfolding.limits = limits
        return table

    @staticmethod
    def _is_for(table: Table, ruling: Ruling) -> bool:
        return table.peer == ruling.peer and table.transactional_id == ruling.transactional_id

    def _may_keep(self, topic: str, policies: Policies) -> bool:
        """True where what is rejected of a topic may be kept: it exists, or not many such are kept yet."""
        table = self.request_lexer.table
        return topic in policies.view.topics or (
            is_topic_name(topic) and (table is None or topic in table or table.kept < MOST_UNKNOWN)
        )

    @property
    def topics_kept(self) -> int:
        """In the table, and in those that are retired and still have requests in flight."""
        table = self.request_lexer.table
        return (table.kept if table is not None else 0) + sum(each.kept for each in self._retired)

    def forget(self) -> None:
        """Let no Produce request pass until something is learnt anew."""
        if self.request_lexer.table is not None:
            self._retired.append(self.request_lexer.table)
            self.request_lexer.table = None

    def settled(self) -> list[Totals]:
        """What retired tables still had to tell, once all that passed by them is answered."""
        if not self._retired:
            return []
        over = [table for table in self._retired if not table.in_flight]
        self._retired = [table for table in self._retired if table.in_flight]
        return [totals for table in over for totals in table.drain()]

    def drain(self) -> list[Totals]:
        """All that was accepted since the last drain and passed without an outcome of its own."""
        table = self.request_lexer.table
        return self.settled() + (table.drain() if table is not None else [])


def _blame(policy: TopicPolicy, verdict: Reject) -> Blame:
    return Blame(
        rule=policy.rule,
        mode=policy.mode,
        reason=verdict.reason,
        unit_guess=verdict.unit_guess,
        error_code=int(verdict.error_code),
        would_reject=False,
        bad_records=0,
        culprit_ms=0,
    )


class _Unfolding:
    """Reads the compressed batches that are cheap to read, for the kernel to look at their facts."""

    def __init__(self, limits: SessionLimits, purse: Purse) -> None:
        self.lexer: RequestLexer | None = None
        self.limits = limits
        self._goes = 0
        self._purse = purse

    def read(
        self, codec_id: int, body: bytes, base_timestamp: int, count: int, limits: TopicLimits | None
    ) -> RecordFacts | None:
        self._refill_for_a_new_go()
        if self._purse.left <= 0:
            return None
        is_written_anew = is_rebuilt(codec_id, limits)
        try:
            return read_small(
                codec_id, body, base_timestamp, count, self.limits, is_written_anew, self._purse.spend
            )
        except DearError:
            return None

    def _refill_for_a_new_go(self) -> None:
        """The session fills the purse before it takes requests; of the short way it hears nothing."""
        if self.lexer is not None and self.lexer.goes != self._goes:
            self._goes = self.lexer.goes
            self._purse.refill()

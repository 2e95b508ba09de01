"""The session's side of the fast path: it learns which topics may be forwarded, and what may be rejected.

The session is the one definition of what the proxy does. It shows the fast path which batches of which topics
it forwards unchanged (`learn`). From then on the fast path forwards such requests and the answers that accept
them, and counts the batches. The session also shows the fast path which batches it rejected
(`learn_rejection`). The fast path then repeats these rejections for a few seconds. Everything else comes to
the session.

A table is valid for one peer, one transactional id, one policy, and the limits of its topics. When any of
them changes, the table is retired (`forget`). The next Produce request of each topic then takes the slow path
and adds a row to a new table, which costs twenty times as much. So a view in which only other topics have
changed retires no table (`holds_in`): any client can cause such a view by naming a topic.
"""

from collections.abc import Collection, Container
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Final

from tsproxy.decisions.totals import Totals, key_of
from tsproxy.fastpath import (
    AnswerFilter,
    ForwardedFetch,
    ForwardedProduce,
    ForwardedRelay,
    InFlight,
    Rejecter,
    Rejection,
    RequestFilter,
    Table,
    TopicTrust,
)
from tsproxy.model.bounded import Ceiling, Owner
from tsproxy.model.kafka import ApiKey, Codec, is_topic_name
from tsproxy.model.outcome import Peer, VerdictName
from tsproxy.model.policy import Inspect, TopicPolicy
from tsproxy.model.records import RecordFacts
from tsproxy.model.verdict import Accept, Reject, TopicLimits
from tsproxy.model.view import SessionLimits, Unchanged
from tsproxy.policy.context import is_recompressed
from tsproxy.policy.fast_path import fast_path_bounds, may_stay_unread, repeatable_rejection
from tsproxy.session.budget import BudgetExceededError, DecompressionBudget
from tsproxy.session.fresh_limits import FreshLimits
from tsproxy.session.policies import MAX_UNKNOWN, Policies
from tsproxy.session.slots import BlankNodes, BookProduce, PassThrough
from tsproxy.session.throttle import Throttle
from tsproxy.session.trust import Trust
from tsproxy.session.verdict import PartitionVerdict, RequestVerdict
from tsproxy.wire.answers import AnswerStream
from tsproxy.wire.apis import APIS
from tsproxy.wire.frames import RequestFrames
from tsproxy.wire.headers import RequestHeader
from tsproxy.wire.k00_produce import TOPIC_IDS_FROM
from tsproxy.wire.record_batch import read_small

if TYPE_CHECKING:  # it is in the stub alone
    from tsproxy.fastpath._native import Throttle as CountRejected

_KEYS: Final = range(max(APIS) + 1)

EXAMPLE_EVERY_MS: Final = 5_000
"""How long a rejection is repeated. Then the session rejects one batch itself, so that the decision log gets
another example."""

MAX_LEARNT: Final = 100
"""The maximum number of topics, and of rejected partitions, that are learnt from one request. Learning so
many costs a millisecond or two."""

TABLE: Final = Ceiling(
    "topics of the fast path, and rejections of 8 kinds for each topic; in native code",
    most=512,
    most_bytes=8 << 20,
    when_full="requests of further topics take the slow path",
    owner=Owner.CONNECTION,
)

_PLAIN: Final = Codec.NONE.name.lower()


def relayed_but(read: Collection[int]) -> bytes:
    """One byte for each API key: how many of its versions, from 0 on, are forwarded. Neither their requests
    nor their answers are read. The byte is 0 for the keys in `read`."""
    return bytes(APIS[key].max_version + 1 if key in APIS and key not in read else 0 for key in _KEYS)


def slot_of(
    forwarded: ForwardedProduce | ForwardedFetch | ForwardedRelay,
) -> PassThrough | BlankNodes | BookProduce:
    """The session's slot for a request that the fast path forwarded. It is made when the session needs it."""
    if isinstance(forwarded, ForwardedFetch):
        return BlankNodes(forwarded.correlation_id, forwarded.layout)
    if isinstance(forwarded, ForwardedRelay):
        return PassThrough(forwarded.correlation_id)
    return BookProduce(forwarded.correlation_id, _verdict_on(forwarded))


def _verdict_on(forwarded: ForwardedProduce) -> RequestVerdict:
    return RequestVerdict(
        header=RequestHeader(
            ApiKey.PRODUCE,
            forwarded.api_version,
            forwarded.correlation_id,
            forwarded.peer.client_id,
            body_start=0,
        ),
        peer=forwarded.peer,
        now_ms=forwarded.now_ms,
        acks=forwarded.acks,
        transactional_id=forwarded.transactional_id,
        forwarded=tuple(
            PartitionVerdict(
                topic=batch.topic,
                partition=batch.partition,
                batch=batch.batch,
                limits=batch.limits,
                verdict=Accept(),
                topic_id=batch.topic_id,
            )
            for batch in forwarded.batches
        ),
        rejected=(),
    )


class FastPath:
    """The fast path of one session. `relayed` is made by `relayed_but` from the session's routes; `limits`
    bound the frames of the fast path like the session's frames; `throttle` counts what rejections cost, and
    `trust` what good and bad batches do."""

    def __init__(self, relayed: bytes, limits: SessionLimits, throttle: Throttle, trust: Trust) -> None:
        self.slots = InFlight(slot_of)
        """The queue of requests in flight, which the session uses as well."""
        self.requests = RequestFilter(
            self.slots, relayed, limits.produce_frame, limits.other_frame, DecompressionBudget
        )
        self.answers = AnswerFilter(self.slots)
        self.rejecter = Rejecter(self.requests)
        """The caller must try it before `requests`. The session tries it on the bytes that it gets itself."""
        self._throttle, self._trust = throttle, trust
        self._retired: list[Table] = []
        self._held_bytes: int | None = None
        """None if it must be added up again."""

    def offer(self, oldest: int, newest: int) -> None:
        """Forward these versions of Produce only: the broker supports no others."""
        self.requests.oldest_produce, self.requests.newest_produce = oldest, newest

    def take_budget(self) -> DecompressionBudget:
        """The budget of the read that the session gets now. The fast path may have spent some of it."""
        budget: DecompressionBudget = self.requests.take_budget()
        return budget

    def next_requests(
        self, frames: RequestFrames, most: int, now_ms: int, budget: DecompressionBudget
    ) -> bytes:
        """The next requests that may be forwarded, at most `most` of them; empty if there is none."""
        end = self.requests.forward_buffered(frames.data, frames.pos, most, now_ms, budget)
        return frames.take_until(end)

    def next_rejections(self, frames: RequestFrames, now_ms: int) -> tuple[bytes, int]:
        """(the answers to the next requests that are rejected as an earlier one was, the throttle time in ms
        of the last one)."""
        end, answers, throttle_ms = self.rejecter.reject_buffered(frames.data, frames.pos, now_ms)
        frames.take_until(end)
        return answers, throttle_ms

    def next_answers(self, stream: AnswerStream) -> bytes:
        """The next answers that may be forwarded; empty if there is none."""
        return stream.take_until(self.answers.forward_buffered(stream.data, stream.pos))

    def open(self, most_in_flight: int) -> None:
        """Let the fast path forward whole frames. Only the bytes of a frame then decide whether it may be
        forwarded."""
        self.requests.most_in_flight = most_in_flight
        self.requests.is_open = True
        self.answers.is_open = not self._retired  # the session drains a retired table after its answers

    def close(self) -> None:
        """Let the caller forward nothing until the next `open`: the session must handle the next bytes."""
        self.requests.is_open = self.answers.is_open = False

    def holds_in(self, unchanged: Unchanged) -> bool:
        """True if all that was learnt holds in the new view, too."""
        table = self.requests.table
        return table is None or (unchanged.has_rules and unchanged.has_limits_of(table.known_topics))

    def learn(self, verdict: RequestVerdict, policies: Policies) -> None:
        """Forward requests like this one from now on: learn the topics whose batches were forwarded.

        A topic is learnt only if two bounds express everything that its policy requires of timestamps. A
        topic that is not known to exist is learnt in `learn_accepted`, not here: a client may name as many
        such topics as it likes.
        """
        self._held_bytes = None
        table, known = self._table_for(verdict, policies), policies.view.topics
        self._add(table, verdict, policies, known)

    def learn_accepted(self, verdict: RequestVerdict, policies: Policies, accepted: Collection[str]) -> None:
        """Learn those topics of the request that are in `accepted`: a broker has accepted a batch of each, so
        they exist."""
        table = self.requests.table
        if table is None or not self._is_for(table, verdict):
            return
        self._held_bytes = None
        self._add(table, verdict, policies, accepted)
        for partition in verdict.forwarded:
            was_read = partition.batch.codec != _PLAIN and not partition.batch.is_unread
            if was_read and not partition.is_bad and partition.topic in accepted:
                table.was_in_order(partition.topic_key)

    def _add(
        self, table: Table, verdict: RequestVerdict, policies: Policies, existing: Container[str]
    ) -> None:
        """Learn the topics that are in `existing` and whose policies were found for this request, at most
        MAX_LEARNT. The others take the slow path once more."""
        named = dict.fromkeys([(p.topic, p.topic_id) for p in verdict.forwarded if p.topic in existing])
        missing = (key for key in named if (key[1] or key[0]) not in table)
        kept = ((*key, policies.kept(key[0], verdict.now_ms)) for key in missing)
        known = ((topic, topic_id, policy) for topic, topic_id, policy in kept if policy is not None)
        for topic, topic_id, policy in islice(known, MAX_LEARNT):
            span = fast_path_bounds(policy)  # not of the verdict's policy: that may be of an earlier view
            if span is not None:
                bounds_ms = span.before_max_ms, span.after_max_ms
                trust = self._trust_of(table, topic, policy) if may_stay_unread(policy) else None
                table.add(topic, policy.limits, *bounds_ms, topic_id, trust)

    def _trust_of(self, table: Table, topic: str, policy: TopicPolicy) -> TopicTrust:
        """The trust of the client; that of this table alone if the broker may accept what the policy
        rejects. Otherwise a client could lend its trust to another one at its address."""
        if policy.inspect_compressed is not Inspect.AUTO:
            return TopicTrust()
        return self._trust.of(table.peer, table.transactional_id, topic, policy)

    def learn_bad(self, verdict: RequestVerdict, topics: Collection[str]) -> None:
        """Batches of these topics were bad: read every compressed batch of these topics for a while, on all
        connections of the address."""
        self._trust.punish(verdict.peer.client_address, topics, verdict.now_ms)

    def learn_rejection(
        self, verdict: RequestVerdict, policies: Policies, fresh_limits: FreshLimits, now_ms: int
    ) -> None:
        """Repeat the rejections of this request from now on. No batch of this request was forwarded.

        A rejection is repeated for a while. Then the next such batch takes the slow path, so that the
        decision log gets another example. It ends earlier if the limits become old. Only the first
        MAX_LEARNT partitions are learnt: requests with more partitions are hardly ever alike.
        """
        self._held_bytes = None
        for partition in verdict.rejected[:MAX_LEARNT]:
            rejected, policy = partition.verdict, policies.kept(partition.topic, verdict.now_ms)
            if not isinstance(rejected, Reject) or partition.batch.codec != _PLAIN:
                continue
            if policy is None or policy.limits is None:
                continue
            if not self._may_keep(partition, policies):
                continue
            needs_fresh = policies.view.reads_limits and policies.are_told(policy)
            if needs_fresh and not fresh_limits.is_fresh(partition.topic, now_ms):
                continue
            repeatable = repeatable_rejection(policy, rejected, verdict.now_ms, EXAMPLE_EVERY_MS)
            if repeatable is None:
                continue
            rejection = Rejection(
                topic=partition.topic,
                limits=policy.limits,
                lowest_ms=repeatable.lowest_ms,
                highest_ms=repeatable.highest_ms,
                from_ms=repeatable.from_ms,
                until_ms=repeatable.until_ms,
                key=key_of(
                    verdict.peer,
                    partition.topic,
                    VerdictName.REJECTED,
                    reason=rejected.reason,
                    unit_guess=rejected.unit_guess,
                    error_code=int(rejected.error_code),
                    rule=policy.rule,
                    mode=policy.mode,
                ),
                error_message=rejected.error_message or "",
                culprits_listed=policies.view.limits.culprits_listed,
                topic_id=partition.topic_id,
                freshness=fresh_limits.of(partition.topic) if needs_fresh else None,
            )
            self._table_for(verdict, policies).repeat(rejection)

    def _table_for(self, verdict: RequestVerdict, policies: Policies) -> Table:
        """The table that fits this request. It is a new one if the current table does not fit, or there is
        none."""
        table = self.requests.table
        if table is None or not self._is_for(table, verdict):
            self.forget()
            limits = policies.view.limits
            most_ms = limits.throttle_ms
            table = Table(
                verdict.peer,
                verdict.transactional_id,
                limits.records_per_batch,
                partial(_read_compressed, limits),
                None if most_ms is None else _throttle_of(self._throttle, verdict.peer, most_ms),
                _names_ids(verdict),
                penalties=self._trust.penalties_of(verdict.peer.client_address),
            )
            self.requests.table = table
        return table

    @staticmethod
    def _is_for(table: Table, verdict: RequestVerdict) -> bool:
        return (
            table.peer == verdict.peer
            and table.transactional_id == verdict.transactional_id
            and table.names_ids == _names_ids(verdict)
        )

    def _may_keep(self, partition: PartitionVerdict, policies: Policies) -> bool:
        """True if rejections of the topic may be kept: the topic exists, or the table does not contain many
        topics yet."""
        table, topic = self.requests.table, partition.topic
        return topic in policies.view.topics or (
            is_topic_name(topic)
            and (table is None or partition.topic_key in table or table.kept < MAX_UNKNOWN)
        )

    @property
    def held_bytes(self) -> int:
        """The memory of the table, and of the retired tables that are not dropped yet. A histogram that has
        grown since something was learnt counts from the next drain on."""
        if self._held_bytes is None:
            tables = [*self._retired, *([self.requests.table] if self.requests.table is not None else [])]
            self._held_bytes = sum(table.held_bytes for table in tables)
        return self._held_bytes

    def forget(self) -> None:
        """Forward no Produce request until something is learnt again."""
        self._held_bytes = None
        if self.requests.table is not None:
            self._retired.append(self.requests.table)
            self.requests.table = None

    @property
    def has_settled(self) -> bool:
        """True if at least one retired table has no request in flight: it can be drained and dropped."""
        return any(not table.in_flight for table in self._retired)

    def drain(self) -> list[Totals]:
        """The batches that the fast path has counted since the last drain."""
        settled = [table for table in self._retired if not table.in_flight]
        self._retired = [table for table in self._retired if table.in_flight]
        self._held_bytes = None
        current = [] if self.requests.table is None else [self.requests.table]
        return [totals for table in settled + current for totals in table.drain()]


def _names_ids(verdict: RequestVerdict) -> bool:
    return verdict.header.api_version >= TOPIC_IDS_FROM


def _throttle_of(throttle: Throttle, peer: Peer, most_ms: int) -> "CountRejected":
    """A function that counts what rejected batches cost this client, and returns how long the client is
    throttled. It returns None if the client should be muted already."""

    def rejected(batches: int, size_bytes: int, now_ms: int) -> int | None:
        if throttle.mute_ms(peer, now_ms, most_ms):
            return None
        return throttle.rejected(peer, batches, size_bytes, now_ms, most_ms)

    return rejected


def _read_compressed(
    session_limits: SessionLimits,
    codec_id: int,
    body: memoryview,
    base_timestamp: int,
    count: int,
    limits: TopicLimits | None,
    budget: DecompressionBudget,
) -> RecordFacts | None:
    """The facts of compressed records; None if they cost more than is left of `budget`."""
    if budget.left <= 0:
        return None
    try:
        return read_small(
            codec_id,
            body,
            base_timestamp,
            count,
            session_limits,
            is_recompressed(codec_id, limits),
            budget.charge,
        )
    except BudgetExceededError:
        return None

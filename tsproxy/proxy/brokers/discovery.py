"""Keeps the facts about the cluster up to date, over a connection of its own.

It reads the brokers every `refresh_ms`, and at once if an answer named an unknown broker. At the same
interval it reads the limits of every topic that producers write to. It reads the limits of a new topic at
once (`topics`), and those of a topic with old limits before a batch is rejected by them. A topic that is
requested while a query is in progress goes into the next query. Limits that a topic does not set itself come
from each broker, so every broker is queried (`links`), and the loosest values are in force
(`cluster.limits_of_brokers`). Each change is published as one new set of facts. If the cluster is
unreachable, or rejects the proxy's own user, the last known facts stay in force, and the connection is
retried for ever. Only in the first case clients cannot be served (`reachability`).
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from enum import Enum, auto
from itertools import islice
from types import MappingProxyType
from typing import Final

from tsproxy.clock import Clock
from tsproxy.cluster.admin_connection import (
    LAST_REJECTED_RETRY_MS,
    TOPICS_A_REQUEST,
    AdminConnection,
    ConversationError,
    RejectedError,
    connected,
)
from tsproxy.cluster.conversation import Pause, keep_conversing
from tsproxy.cluster.metadata import all_topics
from tsproxy.config.settings import Config, Listener, Upstream
from tsproxy.log_events.catalogue import (
    BROKER_LIST_EMPTY,
    CLUSTER_CHANGED,
    CLUSTER_CONVERSATION_CRASHED,
    UPSTREAM_MAY_BE_PROXY,
)
from tsproxy.model.addresses import Address
from tsproxy.model.kafka import ApiKey, ErrorCode, TimestampType, is_topic_name
from tsproxy.model.produce import TopicKey
from tsproxy.proxy.brokers.facts import ClusterFacts
from tsproxy.proxy.brokers.links import BrokerLinks
from tsproxy.proxy.brokers.own_addresses import listener_at, own_listener
from tsproxy.proxy.brokers.reachability import AGAIN_MS, Reachability, answers
from tsproxy.proxy.brokers.topic_ids import TopicIds
from tsproxy.proxy.brokers.topics import FIRST_RETRY_MS, Topics
from tsproxy.proxy.brokers.wanted import Wanted
from tsproxy.proxy.notes import frames_of
from tsproxy.proxy.wait import RetryWait, wait_at_most
from tsproxy.session.fresh_limits import FreshLimits
from tsproxy.tls.contexts import CurrentTls
from tsproxy.wire.k03_metadata import VERSION as NAMES_IDS_FROM

LAST_RETRY_MS: Final = 1_000
"""The longest wait while no broker answers. It is short, so that the proxy notices soon that brokers are
back."""
LOGIN_EVERY_S: Final = 3_600.0
LOGIN_RETRY_S: Final = 30.0
"""How soon to log in again beside an open connection after a failure. Brokers count failed logins."""
NODES_EVERY_MS: Final = 1_000
"""Unknown nodes cause a new reading of the brokers at most this often."""
TOPICS_PROBED: Final = 200
STAMPED_TOPICS: Final = 20
TOPIC_PROBED: Final = "tsproxy.probe"
MAX_LISTED: Final = 20_000
"""The most topics whose limits are read at the start."""
LISTING_MS: Final = 2_000
"""How long clients wait at the start for the limits of topics."""
MAX_WANTED: Final = 400
"""The most topics whose limits are read at once for requests that wait."""
WANTED_EVERY_MS: Final = 20
SILENT_S: Final = 2.0
"""After this time without an answer, the log names the broker that is asked first. It has 10 s to answer."""
CHANGED_LATELY_MS: Final = 3_600_000
"""How long a change of the cluster is a warning."""
_EMPTY: Final = "the cluster names no broker"


class _Question(Enum):
    """The questions about the cluster. At first, clients that wait are served first."""

    NAMES = auto()
    LIMITS = auto()
    CLUSTER = auto()
    TOPICS = auto()
    ABSENT = auto()


class OwnLoginError(RejectedError):
    """Brokers answer, but not the proxy's own login or questions."""


class NoBrokersError(ConversationError):
    """A broker has answered the proxy, and it names no broker."""


class PermissionDeniedError(Exception):
    """The proxy may not read the limits that it needs. The text says which permission to grant."""


class Cluster:
    """Publishes facts about the cluster. `on_facts` is called with each new `ClusterFacts`; the first one has
    at least one broker.

    With `reads_limits` False it reads no limits of topics. With `needs_permission` False it goes on if it may
    not read them.
    """

    def __init__(
        self,
        upstream: Upstream,
        tls: CurrentTls | None,
        clock: Clock,
        on_facts: Callable[[ClusterFacts], None],
        *,
        reads_limits: bool = True,
        listeners: Sequence[Listener] = (),
        fresh_limits: FreshLimits | None = None,
        asks_authorizer: bool = False,
        needs_permission: bool = True,
    ) -> None:
        self._began_ms = 0
        self._brokers_are_requested = False
        self._changed = (-CHANGED_LATELY_MS, "")
        """When another cluster answered (monotonic ms), and the sentence about it."""
        self._clock = clock
        self._fresh = fresh_limits if fresh_limits is not None else FreshLimits()
        self._facts = ClusterFacts(needs_sasl=upstream.sasl is not None)
        self._conversing_with: Address | None = None
        """The broker of our own connection, from its first answer to its end."""
        self._is_own_address_logged = False
        self._listed_ms = clock.monotonic_ms()
        self._listeners = listeners
        self._login_wanted = asyncio.Event()
        self._links = BrokerLinks(lambda: self._upstream, tls, self._publish_limits, self.request_brokers)
        if asks_authorizer:
            self._links.ask_authorizer()
        self._may_read_limits = not (reads_limits and needs_permission)
        self._on_facts = on_facts
        self._reachability = Reachability(clock)
        self._retry = RetryWait(FIRST_RETRY_MS)
        self._reads_limits = reads_limits
        self._read_ms = 0
        """When the brokers were read last."""
        self._empty_until_ms = 0
        """Until then an empty list of brokers is not logged again (monotonic ms)."""
        self._silence: asyncio.TimerHandle | None = None
        """Runs while the first answer of a broker is missing."""
        self._silence_is_logged = False
        self._tls = tls
        self._topic_ids = TopicIds()
        self._topics = Topics()
        self._topics_read_ms = 0
        """When all topics were read last, or began to be read."""
        self._unread: Sequence[str] = ()
        """The topics that are still to be read."""
        self._upstream = upstream
        self._wake = asyncio.Event()
        self._wanted = Wanted[str]()
        """Topics whose limits are wanted."""
        self._wanted_read_ms = 0

    def apply(self, config: Config) -> None:
        """A reload: addresses, user and interval take effect with the next connection. Limits that were not
        read before are queried when topics need them. If the proxy may not read limits, it does not end as at
        the start, but logs this for each topic."""
        self._upstream = config.upstream
        self._listeners = config.listeners
        self._reads_limits = config.policy.asks_broker
        if config.needs_proofs:
            self._links.ask_authorizer()
        self._login_wanted.set()
        self._wake.set()

    def want_topic(self, topic: TopicKey, address: str) -> None:
        """A producer at `address` writes to `topic`: read its limits, and keep them up to date. If they are
        known, they are old, and are read again. If `topic` is an id, find its name.

        Invalid names are ignored. A name that is not UTF-8 could not be sent, and a request that fails for
        one name would fail for all topics.
        """
        if isinstance(topic, bytes):
            if self._topic_ids.want(topic, address, self._clock.monotonic_ms()):
                self._wake.set()
            return
        if not self._reads_limits or not is_topic_name(topic):
            return
        self.topic_used(topic)
        is_known = topic in self._topics
        if topic in self._topics.unreadable or (is_known and not self._may_ask_again(topic)):
            return
        now_ms = self._clock.monotonic_ms()
        if (is_known or self._topics.has_room) and self._wanted.add(topic, address, now_ms):
            self._wake.set()

    def _may_ask_again(self, topic: str) -> bool:
        return self._fresh.may_be_asked(topic, self._clock.now_ms())

    def topic_used(self, topic: str) -> None:
        """A producer has written to `topic`: its limits stay up to date."""
        self._topics.used(topic, self._clock.monotonic_ms())

    def knows_topic(self, topic: str) -> bool:
        return topic in self._facts.topics

    @property
    def is_up(self) -> bool:
        """True if brokers are known, and one answers."""
        return bool(self._facts.brokers) and self._reachability.is_up

    @property
    def is_logged_in(self) -> bool:
        return self._reachability.is_logged_in

    @property
    def has_changed(self) -> bool:
        """True for an hour from when another cluster answered."""
        return self._clock.monotonic_ms() - self._changed[0] < CHANGED_LATELY_MS

    def not_ready(self) -> list[str]:
        """A sentence if brokers are not known yet, or if none can be reached."""
        if self.is_up:
            return []
        what = "no broker can be reached" if self._facts.brokers else "brokers are not known yet"
        return [f"{what}{f': {_EMPTY}' if self._is_empty else self._reachability.why()}"]

    @property
    def _is_empty(self) -> bool:
        return bool(self._empty_until_ms) and self._reachability.is_up and self.is_logged_in

    def warnings(self) -> list[str]:
        """A sentence if the proxy's own login fails, if the cluster names no broker, for each broker that
        hangs or has not told its limits, and one if limits of topics in use cannot be read."""
        warnings = [*self._reachability.warnings(), *self.hanging(), *self.limits_unknown()]
        if self._is_empty:
            warnings.append(f"{_EMPTY}: it is starting, or its controllers have fenced the brokers")
        if self.has_changed:
            warnings.append(self._changed[1])
        if topics := sorted(self._facts.unreadable_topics):  # as sessions judge
            shown = ", ".join(topics[:3]) + (", …" if len(topics) > 3 else "")
            warnings.append(
                f"limits of topics cannot be read: {len(topics):,} ({shown}); grant DescribeConfigs on "
                "them to the user of upstream.admin"
            )
        return warnings

    def want_node(self, node_id: int, address: Address) -> None:
        """An answer named an unknown broker, or a broker with a new address: read the brokers again."""
        if self._facts.brokers.get(node_id) != address:
            self.request_brokers()

    @property
    def has_authorizer(self) -> bool:
        """False if every broker has said that it has none. It is asked only for dead letters."""
        return self._links.has_authorizer

    def client_connected(self, address: Address) -> None:
        self._links.client_connected(address)

    def hanging(self) -> list[str]:
        return self._links.hanging()

    def limits_unknown(self) -> list[str]:
        return self._links.values_unknown()

    def suspect_hang(self, address: str) -> None:
        """The broker at `address` keeps a client waiting: see whether it answers us."""
        self._links.suspect_hang(address)

    def connections(self) -> Mapping[int, AdminConnection]:
        """Our own open connections, by the node id of the broker."""
        return self._links.connections

    def stamped_topics(self) -> Sequence[str]:
        """Some of the known topics with LogAppendTime."""
        stamped = (
            topic
            for topic, limits in self._facts.topics.items()
            if limits.timestamp_type is TimestampType.LOG_APPEND_TIME
        )
        return [*islice(stamped, STAMPED_TOPICS)]

    async def run(self) -> None:
        """Runs for ever. Raises PermissionDeniedError if the proxy may not read limits at the start."""
        try:
            await keep_conversing(self._converse_with_any, self._conversation_failed)
        finally:
            await self._links.close()

    def _conversation_failed(self, error: Exception) -> Pause:
        if isinstance(error, PermissionDeniedError):
            raise error
        was_conversing, self._conversing_with = self._conversing_with is not None, None
        self._fresh.is_answered = was_conversing  # another broker may answer at once
        if not isinstance(error, ConversationError):
            # An error in our code or in the client library must not stop the data path.
            text = f"a mistake in tsproxy ({type(error).__name__})"
            self._reachability.login_failed(text, self._what_follows())
            CLUSTER_CONVERSATION_CRASHED(error=type(error).__name__, frames=frames_of(error))
            return Pause(self._retry.next_ms(LAST_REJECTED_RETRY_MS))
        if not was_conversing:  # otherwise the error only matters if no broker answers now
            if isinstance(error, NoBrokersError):
                self._reachability.works()  # whatever other brokers do
            elif isinstance(error, OwnLoginError):
                self._reachability.login_failed(str(error), self._what_follows())
            else:
                self._reachability.unreachable(str(error), self._what_follows())
            is_rejected = isinstance(error, RejectedError)
            return Pause(self._retry.next_ms(LAST_REJECTED_RETRY_MS if is_rejected else LAST_RETRY_MS))
        if self._clock.monotonic_ms() - self._began_ms > LAST_RETRY_MS:
            self._retry.start_over()
            return Pause(0)  # after a restart another broker answers at once
        return Pause(self._retry.next_ms(LAST_RETRY_MS))

    async def _converse_with_any(self) -> None:
        """Connect to the first of the configured and known brokers that answers. Ends only with an error."""
        self._began_ms = self._clock.monotonic_ms()
        addresses = dict.fromkeys((*self._upstream.bootstrap_servers, *self._facts.brokers.values()))
        reasons, kinds = [], set[type[ConversationError]]()
        for address in addresses:
            self._silence = asyncio.get_running_loop().call_later(SILENT_S, self._is_silent, address)
            try:
                async with self._connected(address, self._wake.set) as connection:
                    await self._converse(connection)
            except ConversationError as error:
                if self._conversing_with is not None:
                    raise
                is_told = isinstance(error, NoBrokersError)
                is_served = not is_told and (OwnLoginError in kinds or await answers(address, self._tls))
                kinds.add(OwnLoginError if is_served else type(error))
                reasons.append(f"{error}{self._if_own(address)}")
            finally:
                self._silence.cancel()
        ranked = (NoBrokersError, OwnLoginError, RejectedError, ConversationError)
        kind = next(kind for kind in ranked if kind in kinds)
        raise kind("; ".join(reasons))

    def _connected(
        self, address: Address, on_end: Callable[[], None] = lambda: None
    ) -> AbstractAsyncContextManager[AdminConnection]:
        return connected(address, self._tls() if self._tls else None, self._upstream.sasl, on_end)

    async def log_in_anew(self) -> None:
        """Log in every hour and at each reload, beside the connection that is open, for ever. So a password
        that was changed is found on its day, and not when brokers are restarted."""
        while True:
            wait_s = LOGIN_EVERY_S if self.is_logged_in else LOGIN_RETRY_S
            is_asked = await wait_at_most(wait_s, self._login_wanted)
            self._login_wanted.clear()
            address = self._conversing_with
            if address is None or self._upstream.sasl is None:
                continue  # the next conversation logs in
            try:
                async with self._connected(address) as connection:
                    await connection.cluster()  # a broker may reject a token only now
                self._reachability.works(is_asked=is_asked)
            except ConversationError as error:
                if await answers(address, self._tls):
                    self._reachability.login_failed(str(error), self._what_follows())
            except Exception as error:  # an error in our code: the open connection goes on
                CLUSTER_CONVERSATION_CRASHED(error=type(error).__name__, frames=frames_of(error))

    async def _converse(self, connection: AdminConnection) -> None:
        """Refresh at intervals, and earlier if something is requested. Ends only with an error.

        Questions that are due take turns. If clients name topics all the time, and a broker is slow, the next
        question for them is due before the last one is answered.
        """
        self._unread, self._topics_read_ms = (), self._clock.monotonic_ms() - self._upstream.refresh_ms
        await self._refresh(connection)
        turns = [*_Question]
        while True:
            if connection.has_ended:
                raise ConversationError("the broker closed the connection")
            now_ms = self._clock.monotonic_ms()
            due_ms = {turn: at_ms for turn in turns if (at_ms := self._due_ms(turn)) is not None}
            question = next((turn for turn in turns if due_ms.get(turn, now_ms + 1) <= now_ms), None)
            if question is not None:
                turns.remove(question)
                turns.append(question)
            match question:
                case None:
                    self._wake.clear()
                    await wait_at_most((min(due_ms.values()) - now_ms) / 1000, self._wake)
                case _Question.NAMES:
                    await self._read_names(connection)
                case _Question.LIMITS:
                    await self._read_wanted(connection)
                case _Question.CLUSTER:
                    await self._refresh(connection)
                case _Question.TOPICS:
                    await self._read_some_topics(connection)
                case _Question.ABSENT:
                    absent = self._topics.due_absent(now_ms, self._upstream.refresh_ms)
                    await self._read_limits(connection, absent, "refresh")

    def _due_ms(self, question: _Question) -> int | None:
        """When the question is due (monotonic ms); None if there is nothing to ask."""
        match question:
            case _Question.NAMES:
                return self._topic_ids.due_ms
            case _Question.LIMITS:
                return self._limits_due_ms
            case _Question.CLUSTER:
                due_ms = self._topics_due_ms
                return min(due_ms, self._read_ms + NODES_EVERY_MS) if self._brokers_are_requested else due_ms
            case _Question.TOPICS:
                return self._read_ms if self._unread else None
            case _Question.ABSENT:
                return self._topics.absent_due_ms

    @property
    def _topics_due_ms(self) -> int:
        """When all topics are read again (monotonic ms): not before they have been read."""
        since_ms = self._clock.monotonic_ms() if self._unread else self._topics_read_ms
        return since_ms + self._upstream.refresh_ms

    async def _refresh(self, connection: AdminConnection) -> None:
        """Read the brokers, and begin to read the limits of all known topics if it is time.

        Brokers may be requested each second, for as long as one is not served, or comes and goes. The limits
        of all topics are not read so often: of 20,000 topics that takes seconds, for the broker, too.
        """
        reads_topics = self._clock.monotonic_ms() >= self._topics_due_ms
        self._brokers_are_requested = False
        answer = await connection.cluster()
        if self._silence is not None:
            self._silence.cancel()
        if not answer.brokers:
            self._log_empty(connection.address)
            raise NoBrokersError(f"{connection.address}: the cluster has no brokers yet")
        self._empty_until_ms = 0
        before, now = self._facts.cluster_id, answer.cluster_id
        is_another = None not in (before, now) and before != now
        if is_another:
            self._forget(f"cluster {now} answers at upstream.bootstrap_servers, {before} did before")
        is_first = is_another or not self._facts.brokers
        topics = await self._list_topics(connection) if is_first else ()
        await self._topic_ids.read_rights(connection)
        if not self._may_read_limits:
            await self._probe(connection, topics)
        if self._conversing_with is None:
            self._conversing_with = connection.address
            self._reachability.works()  # a connection that stays open says nothing about a login of today
        self._fresh.is_answered = True
        self._log_if_named_as_ours(answer.brokers)
        self._links.set_brokers(answer.brokers)
        if is_first and self._reads_limits:
            await self._read_first_limits(connection, topics)
        elif reads_topics and self._clock.monotonic_ms() - self._listed_ms >= self._upstream.refresh_ms:
            self._topics.forget_unused(self._clock.monotonic_ms())
        if is_first:
            await self._links.answered()
            self._listed_ms = self._clock.monotonic_ms()
        # Clients reach these brokers from here on, so the facts must already count unknown limits as unknown.
        changed = replace(
            self._with_limits("refresh"),
            cluster_id=answer.cluster_id,
            brokers=MappingProxyType(dict(answer.brokers)),
        )
        self._publish(changed)
        self._read_ms = self._clock.monotonic_ms()
        if reads_topics:
            self._unread, self._topics_read_ms = self._topics.names, self._read_ms

    def _forget(self, why: str) -> None:
        """Another cluster answers: limits and ids of topics are the former one's. Read all of them anew."""
        self._changed = (self._clock.monotonic_ms(), f"{why}: check whether this was intended")
        CLUSTER_CHANGED(text=why, advice="clients that are connected to the former one stay there")
        self._links.set_brokers({})
        self._topics, self._topic_ids = Topics(), TopicIds()

    async def _read_some_topics(self, connection: AdminConnection) -> None:
        """Read the limits of the next topics. A client that waits for another topic waits for one such piece,
        not for the limits of 20,000 topics."""
        some, self._unread = self._unread[:TOPICS_A_REQUEST], self._unread[TOPICS_A_REQUEST:]
        self._topics.update(await connection.describe(some), self._clock.monotonic_ms())
        if not self._unread:
            self._topics_read_ms = self._clock.monotonic_ms()
            await self._publish_read("refresh")

    async def _read_first_limits(self, connection: AdminConnection, topics: Sequence[str]) -> None:
        """Read the limits of the topics that exist, in pieces, before the first client is served. In a large
        cluster most topics are left: the first request to each of them waits for its limits. Limits
        that may not be read are logged when somebody needs them."""
        began_ms = self._clock.monotonic_ms()
        for start in range(0, min(len(topics), MAX_LISTED), TOPICS_A_REQUEST):
            answers = await connection.describe(topics[start : start + TOPICS_A_REQUEST])
            described = [answer for answer in answers if answer.error_code == ErrorCode.NONE]
            self._topics.update(described, self._clock.monotonic_ms())
            if self._clock.monotonic_ms() - began_ms > LISTING_MS:
                break
        self._links.query(self._topics.examples())

    async def _read_wanted(self, connection: AdminConnection) -> None:
        now_ms = self._wanted_read_ms = self._clock.monotonic_ms()
        asked = self._wanted.take(now_ms, MAX_WANTED)
        await self._read_limits(connection, asked, "rejection")
        for topic in asked:
            self.topic_used(topic)
        settled = {topic for topic in asked if topic in self._topics or topic in self._topics.unreadable}
        self._wanted.known(settled)
        self._wanted.missed([topic for topic in asked if topic not in settled], now_ms)

    @property
    def _limits_due_ms(self) -> int | None:
        """When to read the limits of wanted topics (monotonic ms); None if no topic is wanted."""
        due_ms = self._wanted.due_ms
        return None if due_ms is None else max(due_ms, self._wanted_read_ms + WANTED_EVERY_MS)

    async def _list_topics(self, connection: AdminConnection) -> tuple[str, ...]:
        """The names of all visible topics. Their ids are known from now on, so the first request that names a
        topic by its id waits for nothing."""
        _, newest = (await connection.offers()).get(ApiKey.METADATA, (0, 0))
        if newest < NAMES_IDS_FROM:
            return (await connection.cluster(with_topics=True)).topics
        topics = await all_topics(connection)
        self._topic_ids.add({row.topic_id: row.name for row in topics if row.name})
        return tuple(row.name for row in topics if row.name and not (row.error_code or row.is_internal))

    async def _probe(self, connection: AdminConnection, visible: Sequence[str]) -> None:
        """Find out at the start, not at the first bad record, whether the proxy may read limits. It tries
        visible topics until it may read those of one, or else a topic that need not exist."""
        topics = visible or [TOPIC_PROBED]
        for start in range(0, len(topics), TOPICS_PROBED):
            answers = await connection.describe(topics[start : start + TOPICS_PROBED])
            if any(answer.error_code != ErrorCode.TOPIC_AUTHORIZATION_FAILED for answer in answers):
                self._may_read_limits = True
                return
        raise PermissionDeniedError(_denied_text(self._upstream))

    async def _read_names(self, connection: AdminConnection) -> None:
        """Read the names of new ids. Limits that are known for such a name may be those of a topic that was
        deleted, so they are read again, and published together with the name."""
        names = await self._topic_ids.read(connection, self._clock.monotonic_ms())
        if self._topic_ids.denied - self._facts.denied_ids:
            self.request_brokers()  # the user may have lost its permission on every topic
        if self._reads_limits and self._topics.has_room:
            await self._read_limits(connection, [*names.values()], "topic id")
        self._topic_ids.add(names)
        self._publish_limits()

    async def _read_limits(self, connection: AdminConnection, topics: Sequence[str], why: str) -> None:
        if topics:
            self._fresh.asked(topics, self._clock.now_ms())
            read = self._topics.update(await connection.describe(topics), self._clock.monotonic_ms())
            await self._publish_read(why, read)
            self._fresh.wake()

    async def _publish_read(self, why: str, read: Sequence[str] = ()) -> None:
        """Publish the limits of the topics that were read, when all brokers have told their values. The
        topics in `read` have fresh limits then, unless the values of some broker are older."""
        self._links.query(self._topics.examples(read))
        is_confirmed = await self._links.answered()
        self._topics.settled()
        self._fresh.answered(read if is_confirmed else ())
        self._publish_limits(why)

    def _publish_limits(self, why: str = "broker") -> None:
        """Publish the limits that result from all answers about topics and of brokers. `why` brokers were
        asked is for the log. Before the first facts, brokers may answer while the limits of topics are read:
        clients are not let in yet."""
        if self._facts.brokers:
            self._publish(self._with_limits(why))

    def _with_limits(self, why: str) -> ClusterFacts:
        topics, on_kafka_4 = self._topics.limits(self._links.given, why)
        return replace(
            self._facts,
            topics=topics,
            topics_on_kafka_4=on_kafka_4,
            reads_limits=True,
            unreadable_topics=frozenset(self._topics.unreadable),
            topic_names=self._topic_ids.names,
            may_describe=self._topic_ids.may_describe,
            denied_ids=self._topic_ids.denied,
        )

    def _publish(self, facts: ClusterFacts) -> None:
        if facts != self._facts:
            self._facts = facts
            self._on_facts(facts)

    def request_brokers(self) -> None:
        """Read the brokers again, since an answer named an unknown broker, or a connection was lost or came
        back."""
        self._brokers_are_requested = True
        self._wake.set()

    def _is_silent(self, address: Address) -> None:
        """At the start nobody has been let in yet, and there is nothing but this line to see."""
        if not (self._facts.brokers or self._silence_is_logged):
            self._silence_is_logged = True
            text = f"{address}: no answer for {SILENT_S:g} s so far"
            self._reachability.unreachable(text, self._what_follows())

    def _if_own(self, address: Address) -> str:
        listener = own_listener(address, self._listeners)
        if listener is None:
            return ""
        return (
            f" (this proxy's own listener {listener!r} listens there: "
            "upstream.bootstrap_servers must name the brokers)"
        )

    def _log_empty(self, address: Address) -> None:
        """One line when it begins, and one now and then while it lasts."""
        now_ms = self._clock.monotonic_ms()
        if now_ms >= self._empty_until_ms:
            self._empty_until_ms = now_ms + AGAIN_MS
            BROKER_LIST_EMPTY(
                broker=str(address),
                advice="it answers and names no broker: the cluster is starting, or its controllers have "
                f"fenced the brokers; {self._what_follows()}",
            )

    def _log_if_named_as_ours(self, brokers: Mapping[int, Address]) -> None:
        listener = listener_at(brokers, self._listeners)
        if listener is not None and not self._is_own_address_logged:
            self._is_own_address_logged = True
            UPSTREAM_MAY_BE_PROXY(
                listener=listener,
                brokers={str(node_id): str(address) for node_id, address in brokers.items()},
                advice="upstream.bootstrap_servers leads to this proxy, or to another like it, unless "
                "brokers' names lead elsewhere here than for clients: name the brokers' own addresses",
            )

    def _what_follows(self) -> str:
        if self._facts.brokers:
            return "retried forever; brokers that are known are still tried for each client"
        return "retried forever; no client is accepted until a broker has answered"


def _denied_text(upstream: Upstream) -> str:
    who = upstream.sasl.user if upstream.sasl else "this connection's principal"
    return (
        f"upstream.admin: brokers do not let {who} read the limits of topics. Grant the operation "
        "DescribeConfigs on all topics (kafka-acls.sh --add --allow-principal User:... --operation "
        "DescribeConfigs --topic '*'), or on those that producers write to, with Describe on at least one of "
        "them; or judge every topic by the file's limits with policy.limits_from: config"
    )

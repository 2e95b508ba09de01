"""The proxy's own connections, one to every broker. They read the values that each broker gives to topics,
and show outages.

A broker is queried when it becomes known, at each refresh, and when it comes back. While its connection is
lost, its last answer stays in force, since clients cannot reach the broker either. Once a client reaches its
address, another broker may be there, or the broker may have new settings. Its values are then unknown until
it answers.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from typing import Final

from tsproxy.cluster.admin_connection import (
    LAST_REJECTED_RETRY_MS,
    AdminConnection,
    ConversationError,
    RejectedError,
    TopicAnswer,
    connected,
)
from tsproxy.cluster.conversation import Pause, keep_conversing
from tsproxy.cluster.limits_of_brokers import Given, given_by
from tsproxy.config.settings import Upstream
from tsproxy.log_events.catalogue import (
    BROKER_ANSWERS,
    BROKER_HANGS,
    BROKER_LIMITS_UNKNOWN,
    CLUSTER_CONVERSATION_CRASHED,
)
from tsproxy.model.addresses import Address
from tsproxy.model.kafka import ErrorCode
from tsproxy.proxy.notes import Trouble, frames_of
from tsproxy.proxy.wait import RetryWait, cancelled
from tsproxy.tls.contexts import CurrentTls

FIRST_RETRY_MS: Final = 250
LAST_RETRY_MS: Final = 10_000
ANSWER_TIMEOUT_S: Final = 0.5
"""How long limits wait for brokers that have not answered. Meanwhile no other question is asked, and a
request that needs its answer waits for a second at most."""
HANG_CHECK_S: Final = 3.0
"""A broker that keeps clients waiting hangs if it does not answer us for so long either."""
HANG_RECHECK_S: Final = 5.0
"""No doubts so soon after an answer: a client may wait for minutes, for records or for its group."""
HUNG_LATELY_S: Final = 120.0
"""Most clients have given up their requests after this time."""


Connect = Callable[[Address, Callable[[], None]], AbstractAsyncContextManager[AdminConnection]]
"""(address, callback for the end of the connection) -> the connection."""


class BrokerLink:
    """The connection to one broker. `given` is the broker's last answer, None if its values are unknown."""

    def __init__(
        self,
        node_id: int,
        address: Address,
        connect: Connect,
        on_change: Callable[[], None],
        on_outage: Callable[[], None],
    ) -> None:
        self.address = address
        self.connection: AdminConnection | None = None
        """None while there is no open connection."""
        self.given: Given | None = None
        self.is_settled = asyncio.Event()
        """Unset while an expected answer may still come."""
        self.is_open_to_all = False
        """True if the broker has said that it has no authorizer."""
        self._answered_s = 0.0
        self._asks_authorizer = False
        self._connect = connect
        self._hang_check: asyncio.TimerHandle | None = None
        """Runs from a client's complaint until the broker answers us."""
        self._hangs = Trouble(BROKER_HANGS, BROKER_ANSWERS)
        self._is_due = True
        """True if the broker must describe the topics. A doubt alone asks for less."""
        self._is_lost = False
        self._node_id = node_id
        self._on_change = on_change
        self._on_outage = on_outage
        self._retry = RetryWait(FIRST_RETRY_MS)
        self._shows_all = True
        """False if the broker could not describe a topic of the latest query: it is gone, or denied."""
        self._topics: tuple[str, ...] = ()
        self._unknown: str | None = None
        """The reason why the broker has not told its values, once it was logged."""
        self._wake = asyncio.Event()
        self.is_settled.set()

    def query(self, topics: tuple[str, ...]) -> None:
        """Query the broker for its description of these topics: now, and whenever it comes back."""
        self._topics = topics
        if (topics or self._asks_authorizer) and not self._is_lost:
            self.is_settled.clear()
        self._is_due = True
        self._wake.set()

    def ask_authorizer(self) -> None:
        """Ask the broker whether it has an authorizer: now, and whenever it comes back. It cannot change
        while the broker runs."""
        if not self._asks_authorizer:
            self._asks_authorizer = True
            self.query(self._topics)

    @property
    def is_confirmed(self) -> bool:
        """True if no value of the broker is in force that was read before the latest query."""
        return self.given is None or (self.is_settled.is_set() and self._shows_all and not self._is_lost)

    def client_connected(self) -> None:
        """A client reaches this address. If our own connection has ended, another broker may be there."""
        if self.connection is None:
            self._wake.set()
            self.is_open_to_all = False
            if self.given is not None:
                self.given = None
                self._on_change()

    def suspect_hang(self) -> None:
        """The broker keeps a client waiting. A wait is often what the client has asked for, such as a fetch
        or a join of a group. So ask the broker for something that it answers at once."""
        loop = asyncio.get_running_loop()
        is_answered = loop.time() < self._answered_s + HANG_RECHECK_S
        if self.connection is not None and self._hang_check is None and not is_answered:
            self._hang_check = loop.call_later(HANG_CHECK_S, self._found_hanging)
            self._wake.set()

    def _found_hanging(self) -> None:
        self._hangs.failed(
            f"no answer to clients and to the proxy for {HANG_CHECK_S:g} s",
            node_id=self._node_id,
            address=str(self.address),
            advice="check whether the broker hangs; if it runs, check its load and its disk",
        )

    def _end_hang_check(self) -> None:
        if self._hang_check is not None:
            self._hang_check.cancel()
            self._hang_check = None

    def warning(self) -> str | None:
        """A sentence if the broker hangs."""
        if self._hangs.text is None:
            return None
        return (
            f"broker {self._node_id} does not answer ({self.address}): {self._hangs.text}. See whether the "
            "broker hangs"
        )

    def values_unknown(self) -> str | None:
        """A sentence if limits are left to brokers because this one has not told its values."""
        if self._unknown is None:
            return None
        return (
            f"broker {self._node_id} has not told its limits, so only brokers apply those that topics do not "
            f"set themselves: {self._unknown}"
        )

    async def run(self) -> None:
        try:
            await keep_conversing(self._connect_and_converse, self._conversation_failed, self._wake)
        finally:
            self._end_hang_check()

    async def _connect_and_converse(self) -> None:
        async with self._connect(self.address, self._wake.set) as connection:
            began_s = asyncio.get_running_loop().time()
            try:
                await self._converse(connection)
            finally:
                if asyncio.get_running_loop().time() - began_s > LAST_RETRY_MS / 1000:
                    self._retry.start_over()

    def _conversation_failed(self, error: Exception) -> Pause:
        certain_ms = LAST_REJECTED_RETRY_MS if isinstance(error, RejectedError) else FIRST_RETRY_MS
        if isinstance(error, ConversationError):
            self._lost(str(error))
        else:
            # An error in our code or in the client library must not end a task that others wait for.
            self._lost(type(error).__name__)
            CLUSTER_CONVERSATION_CRASHED(error=type(error).__name__, frames=frames_of(error))
        self._wake.clear()
        return Pause(certain_ms, max(0, self._retry.next_ms(LAST_RETRY_MS) - certain_ms))

    async def _converse(self, connection: AdminConnection) -> None:
        self._is_due, has_asked = True, False
        while True:
            self._wake.clear()
            if connection.has_ended:
                raise ConversationError(f"{self.address}: the broker closed the connection")
            if self._hang_check is not None or self._hangs.text is not None:
                await connection.offers()  # it needs no right and no topic
                self._answered()
            if self._is_due:
                self._is_due, topics = False, self._topics
                answers = await connection.describe(topics)
                self._answered()
                self._described(answers)
                if self._asks_authorizer and not has_asked:
                    self.is_open_to_all = not await connection.has_authorizer(self._node_id)
                    has_asked = True
                self.connection = connection
                if topics is self._topics:
                    self.is_settled.set()
            await self._wake.wait()

    def _answered(self) -> None:
        self._answered_s = asyncio.get_running_loop().time()
        self._end_hang_check()
        self._hangs.over(node_id=self._node_id, address=str(self.address))

    def _described(self, answers: Sequence[TopicAnswer]) -> None:
        if self._is_lost:
            self._is_lost = False
            self._on_outage()
        self._unknown = None
        self._shows_all = all(answer.error_code == ErrorCode.NONE for answer in answers)
        given = given_by(answers)
        if given is None and self.connection is not None:
            given = self.given  # over a new connection, the values of the former one say nothing
        if given != self.given:
            self.given = given
            self._on_change()

    def _lost(self, text: str) -> None:
        """The broker cannot be reached. Its last answer stays in force. If there is none, log that once."""
        self._end_hang_check()
        if not self._is_lost:
            self._is_lost = True
            self._on_outage()
        if self._topics and self.given is None and self._unknown is None:
            self._unknown = text
            BROKER_LIMITS_UNKNOWN(
                node_id=self._node_id,
                error=text,
                advice="limits that topics do not set themselves are left to brokers until it answers",
            )
        self.connection = None
        self.is_settled.set()


class BrokerLinks:
    """The connections to all brokers. `on_change` is called when values of brokers have changed, `on_outage`
    when a broker was lost or has come back."""

    def __init__(
        self,
        upstream: Callable[[], Upstream],
        tls: CurrentTls | None,
        on_change: Callable[[], None],
        on_outage: Callable[[], None],
    ) -> None:
        self._asks_authorizer = False
        self._former: dict[Address, None] = {}
        self._hung: dict[int, tuple[str, float]] = {}
        """Node id -> the sentence about a broker that hung when the cluster stopped naming it, and the time
        of that. Its clients still wait for it."""
        self._links: dict[int, BrokerLink] = {}
        self._reached_former: set[Address] = set()
        """Former brokers that clients reach again before the cluster names them."""
        self._on_change = on_change
        self._on_outage = on_outage
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._tls = tls
        self._topics: tuple[str, ...] = ()
        self._upstream = upstream

    @property
    def given(self) -> Mapping[int, Given | None]:
        """The values by node id, None for a broker without an answer. Former brokers that clients reach count
        as one more broker without an answer."""
        known = {node_id: link.given for node_id, link in self._links.items()}
        return {**known, -1: None} if self._reached_former else known

    @property
    def connections(self) -> Mapping[int, AdminConnection]:
        links = self._links.items()
        return {node_id: link.connection for node_id, link in links if link.connection is not None}

    def set_brokers(self, brokers: Mapping[int, Address]) -> None:
        self._reached_former.clear()
        since_s = asyncio.get_running_loop().time() - HUNG_LATELY_S
        self._hung = {node_id: hung for node_id, hung in self._hung.items() if hung[1] > since_s}
        for node_id, link in tuple(self._links.items()):
            if brokers.get(node_id) != link.address:
                if (text := link.warning()) is not None:
                    self._hung[node_id] = (text, asyncio.get_running_loop().time())
                self._former[link.address] = None
                del self._links[node_id]
                self._tasks.pop(node_id).cancel()
        for node_id, address in brokers.items():
            self._former.pop(address, None)
            self._hung.pop(node_id, None)
            if node_id not in self._links:
                link = BrokerLink(
                    node_id, address, self._connected, self._on_change, on_outage=self._on_outage
                )
                if self._asks_authorizer:
                    link.ask_authorizer()
                link.query(self._topics)
                self._links[node_id] = link
                self._tasks[node_id] = asyncio.get_running_loop().create_task(link.run())

    def query(self, topics: Sequence[str]) -> None:
        self._topics = tuple(topics)
        for link in self._links.values():
            link.query(self._topics)

    def ask_authorizer(self) -> None:
        """Ask all brokers, from now on, whether they have an authorizer."""
        self._asks_authorizer = True
        for link in self._links.values():
            link.ask_authorizer()

    @property
    def has_authorizer(self) -> bool:
        """False if every broker has said that it has none."""
        links = self._links.values()
        return not links or bool(self._reached_former) or not all(link.is_open_to_all for link in links)

    async def answered(self) -> bool:
        """Returns when all reachable brokers have answered, or after `ANSWER_TIMEOUT_S`. True if they confirm
        all values in force."""
        with suppress(TimeoutError):
            async with asyncio.timeout(ANSWER_TIMEOUT_S):
                for link in tuple(self._links.values()):
                    await link.is_settled.wait()
        return all(link.is_confirmed for link in self._links.values())

    def client_connected(self, address: Address) -> None:
        for link in self._links.values():
            if link.address == address:
                link.client_connected()
                return
        if address in self._former and address not in self._reached_former:
            self._reached_former.add(address)
            self._on_change()
            self._on_outage()

    def suspect_hang(self, address: str) -> None:
        for link in self._links.values():
            if str(link.address) == address:
                link.suspect_hang()

    def hanging(self) -> list[str]:
        """A sentence for each broker that hangs, or hung lately when the cluster went on without it."""
        since_s = asyncio.get_running_loop().time() - HUNG_LATELY_S
        former = [text for text, at_s in self._hung.values() if at_s > since_s]
        return [text for link in self._links.values() if (text := link.warning()) is not None] + former

    def values_unknown(self) -> list[str]:
        return [text for link in self._links.values() if (text := link.values_unknown()) is not None]

    async def close(self) -> None:
        tasks = [*self._tasks.values()]
        self._links, self._tasks = {}, {}
        await cancelled(*tasks)

    def _connected(
        self, address: Address, on_end: Callable[[], None]
    ) -> AbstractAsyncContextManager[AdminConnection]:
        tls = self._tls() if self._tls else None
        return connected(address, tls, self._upstream().sasl, on_end)

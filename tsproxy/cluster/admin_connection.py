"""The proxy's own connection to a broker. It asks which brokers there are and how topics are configured.

It uses aiokafka's connection, not aiokafka's admin client, because the admin client keeps refreshing the
metadata of all topics of a cluster. The proxy does not need that. aiokafka supports Metadata up to v5 and
DescribeConfigs up to v2. Brokers from 2.8 to 4.x accept both.
"""

import asyncio
import ssl
import struct
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final, TypeVar

from aiokafka.conn import AIOKafkaConnection
from aiokafka.errors import IncompatibleBrokerVersion, KafkaConnectionError, KafkaError
from aiokafka.protocol.admin import ApiVersionRequest, DescribeConfigsRequest, SaslHandShakeRequest
from aiokafka.protocol.metadata import MetadataRequest

from tsproxy.cluster.client_options import security_options
from tsproxy.cluster.tokens import token_provider
from tsproxy.cluster.topic_limits import CONFIG_NAMES
from tsproxy.cluster.upstream import CONNECT_ERRORS, NAME_S, To, connect_text, hosts_of, with_any
from tsproxy.config.settings import Kerberos, Sasl
from tsproxy.model.addresses import Address
from tsproxy.model.kafka import ApiKey, ErrorCode
from tsproxy.model.words import many
from tsproxy.wire.k18_api_versions import BrokerVersions
from tsproxy.wire.primitives import DecodeError

MAX_ANSWER_BYTES: Final = 64 << 20
"""aiokafka alone collects whatever a broker announces, up to 2 GiB. A Metadata answer about 200,000
partitions has 10 MiB."""


class _BoundedReader:
    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader

    async def readexactly(self, size: int) -> bytes:
        if not 0 <= size <= MAX_ANSWER_BYTES:
            raise ConnectionError(f"an answer of {size} bytes")
        return await self._reader.readexactly(size)

    def at_eof(self) -> bool:
        return self._reader.at_eof()


class _HostLoop:
    """The loop of a connection. Its `create_connection` connects to this one of a name's addresses."""

    def __init__(self, loop: Any, to: To) -> None:
        self._loop = loop
        self._to = to

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loop, name)

    async def create_connection(
        self, factory: Callable[[], Any], host: str, _: int, *, ssl: ssl.SSLContext | None
    ) -> Any:
        options = self._to | ({"ssl": ssl, "server_hostname": host} if ssl else {})
        return await self._loop.create_connection(factory, **options)


class _Connection(AIOKafkaConnection):  # type: ignore[misc]  # aiokafka carries no types
    def __init__(self, host: str, port: int, to: To, silence: asyncio.Timeout, **options: Any) -> None:
        super().__init__(host, port, **options)
        self._loop: Any = _HostLoop(self._loop, to)
        self._silence = silence

    def _create_reader_task(self) -> Any:
        self._reader: Any = _BoundedReader(self._reader)
        return super()._create_reader_task()

    async def _do_version_lookup(self) -> None:
        await super()._do_version_lookup()
        self._silence.reschedule(None)  # a login may take longer


async def open_connection(host: str, port: int, **options: Any) -> AIOKafkaConnection:
    """As `aiokafka.conn.create_conn`, but an address of a name that is silent does not hide the next one."""

    async def attempt(to: To, share_s: float | None) -> AIOKafkaConnection:
        async with asyncio.timeout(share_s) as silence:
            connection = _Connection(host, port, to, silence, **options)
            await connection.connect()
        return connection

    return await with_any(await hosts_of(Address(host, port), NAME_S), port, attempt)


LAST_REJECTED_RETRY_MS: Final = 10_000
"""The longest wait after a broker has answered and rejected the proxy, for example for a wrong password.
Brokers count failed logins."""
CLIENT_ID: Final = "tsproxy"
REQUEST_TIMEOUT_MS: Final = 10_000
TOPICS_A_REQUEST: Final = 200
_TOPIC_RESOURCE: Final = 2  # ConfigResource.Type.TOPIC
_BROKER_RESOURCE: Final = 4
_AUTHORIZER: Final = "authorizer.class.name"
_TOPIC_CONFIG: Final = 1  # DescribeConfigsResponse.ConfigSource
_DEFAULT_CONFIG: Final = 5
_CONTROLLER: Final = (
    "it speaks Kafka and does not offer Metadata: that is a controller's port (KRaft), which serves no "
    "clients; name the brokers' own listeners in upstream.bootstrap_servers"
)
MAX_BROKERS: Final = 1_000
"""The most brokers of a cluster. Each one costs a connection, a task and a port in each listener."""
_MAX_HOST: Final = 255  # RFC 1035, 2.3.4
_MAX_PORT: Final = 65_535
_UNREADABLE: Final = (AssertionError, LookupError, OverflowError, TypeError, ValueError, struct.error)
"""The errors of aiokafka, and of code that reads its answers, for an answer that no broker gives."""
_CLOSE_S: Final = 1.0
"""How long to wait for a connection to close. The transport closes it even without this wait."""

_NOT_ACCEPTED: Final = "the broker does not accept the token (upstream.admin.sasl)"
"""A broker answers a token that it does not accept with success and a text (RFC 7628), and aiokafka takes
this answer for the end of the login. The next request then gets an answer without brokers, or no answer."""


Read = TypeVar("Read")


class ConversationError(Exception):
    """A broker cannot be reached, or it does not send a usable answer. The text is for operators."""


class RejectedError(ConversationError):
    """A broker answered and rejected the proxy. It will answer the same until somebody changes something."""


@dataclass(frozen=True, slots=True)
class ClusterAnswer:
    """A broker's answer about its cluster. `topics` is empty unless topics were requested, and never contains
    Kafka's internal topics."""

    cluster_id: str | None
    brokers: Mapping[int, Address]
    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TopicAnswer:
    """The configuration of a topic, as a broker describes it. `settings` are keyed by configuration name, and
    empty if `error_code` is not 0. `defaults` names the settings that nobody has set on the topic or on its
    broker. `overrides` names the settings that the topic sets itself. All other settings come from the broker
    that answered."""

    topic: str
    error_code: int
    settings: Mapping[str, str | None]
    defaults: frozenset[str] = frozenset()
    overrides: frozenset[str] = frozenset()


class AdminConnection:
    """One open connection. Every request raises ConversationError when the connection breaks."""

    def __init__(self, connection: AIOKafkaConnection, address: Address, sasl: Sasl | None) -> None:
        self.has_ended = False
        """The broker or the network has closed the connection."""
        self.address = address
        self._connection = connection
        self._has_been_answered = False
        self._sasl = sasl

    @property
    def serves_clients(self) -> bool:
        """False at a controller's port. aiokafka has asked for versions before the login, and a broker
        answers that once (SaslServerAuthenticator)."""
        return ApiKey.PRODUCE in self._connection._versions

    async def cluster(self, *, with_topics: bool = False) -> ClusterAnswer:
        # Metadata v1 and later: null asks for all topics, an empty list for none.
        answer = await self.ask(MetadataRequest(None if with_topics else []), _cluster)
        if not answer.brokers and self._brings_token:
            raise self._not_accepted()
        return answer

    async def may_describe(self, topic: str) -> bool:
        """True if the user of this connection may describe the topic, which need not exist. It is not
        created."""
        answer = await self.request(MetadataRequest([topic], allow_auto_topic_creation=False))
        return all(entry[0] != ErrorCode.TOPIC_AUTHORIZATION_FAILED for entry in answer.topics)

    async def describe(self, topics: Sequence[str], names: Sequence[str] = CONFIG_NAMES) -> list[TopicAnswer]:
        """How topics are configured: the settings in `names`, by default those that limits depend on."""
        answers: list[TopicAnswer] = []
        remaining = iter(topics)
        while chunk := list(islice(remaining, TOPICS_A_REQUEST)):
            resources = [(_TOPIC_RESOURCE, topic, list(names)) for topic in chunk]
            described = await self.ask(DescribeConfigsRequest(resources), _described)
            if {answer.topic for answer in described} != set(chunk):
                raise ConversationError(f"{self.address}: an answer about other topics than asked for")
            answers += described
        return answers

    async def has_authorizer(self, node_id: int) -> bool:
        """False if this broker, whose id is `node_id`, says that it has none: anybody may do anything there.
        True also if it does not say."""
        request = DescribeConfigsRequest([(_BROKER_RESOURCE, str(node_id), [_AUTHORIZER])])
        with suppress(RejectedError):
            return [row.settings.get(_AUTHORIZER) for row in await self.ask(request, _described)] != [""]
        return True

    async def offers(self) -> BrokerVersions:
        """The versions of each API that the broker offers; empty if the broker answers with an error."""
        return await self.ask(ApiVersionRequest(), _offers)

    async def sasl_mechanisms(self, mechanism: str) -> tuple[str, ...] | None:
        """The SASL mechanisms of this listener, or None if the listener has no SASL.

        The connection must have no login. It is of no use afterwards: a broker that does not know `mechanism`
        closes it.
        """
        return await self.ask(SaslHandShakeRequest(mechanism), _mechanisms)

    async def ask(self, request: Any, read: Callable[[Any], Read]) -> Read:
        """Send a request, and return what `read` finds in the answer."""
        answer = await self.request(request)
        try:
            return read(answer)
        except (DecodeError, *_UNREADABLE) as error:
            raise ConversationError(f"{self.address}: {_unreadable_text(error)}") from error

    async def request(self, request: Any) -> Any:  # aiokafka carries no types
        try:
            answer = await self._connection.send(request)
        except KafkaConnectionError as error:
            raise self._closed() from error
        except TimeoutError as error:
            raise ConversationError(f"{self.address}: no answer within {REQUEST_TIMEOUT_MS} ms") from error
        except IncompatibleBrokerVersion as error:
            text = _CONTROLLER if isinstance(request, MetadataRequest) else _error_text(error)
            raise RejectedError(f"{self.address}: {text}") from error
        except KafkaError as error:
            raise RejectedError(f"{self.address}: {_error_text(error)}") from error
        except NotImplementedError as error:  # aiokafka's sign that no version is supported by both sides
            text = f"the broker does not speak {request}"
            raise RejectedError(f"{self.address}: {text}") from error
        except (DecodeError, *_UNREADABLE) as error:
            raise ConversationError(f"{self.address}: {_unreadable_text(error)}") from error
        self._has_been_answered = True
        return answer

    @property
    def _brings_token(self) -> bool:
        return self._sasl is not None and self._sasl.brings_token

    def _closed(self) -> ConversationError:
        if not self._has_been_answered and self._brings_token:
            return self._not_accepted()
        return ConversationError(f"{self.address}: {self._why_closed()}")

    def _not_accepted(self) -> RejectedError:
        _forget_token(self._sasl)
        return RejectedError(f"{self.address}: {_NOT_ACCEPTED}")

    def _why_closed(self) -> str:
        if self._has_been_answered or self._sasl is not None:
            return "the broker closed the connection"
        return (
            "the broker closed the connection at the first request; a listener that requires SASL does that: "
            "if this one does, set upstream.admin.sasl"
        )


@asynccontextmanager
async def connected(
    address: Address, tls: ssl.SSLContext | None, sasl: Sasl | None, on_end: Callable[[], None] = lambda: None
) -> AsyncIterator[AdminConnection]:
    """An open connection to one broker, closed at the end. Raises ConversationError.

    `on_end` is called when the other side has closed the connection (`has_ended`), even between two requests.
    """
    yielded: list[AdminConnection] = []

    def ended(*_: object) -> None:
        for admin in yielded:
            admin.has_ended = True
            on_end()

    connection = None
    try:
        connection = await _connect(address, tls, sasl, ended)
        admin = AdminConnection(connection, address, sasl)
        yielded.append(admin)
        admin.has_ended = not connection.connected()
        yield admin
    finally:
        yielded.clear()
        closed = connection.close() if connection is not None else None
        if closed is not None:
            await asyncio.wait([closed], timeout=_CLOSE_S)


async def _connect(
    address: Address, tls: ssl.SSLContext | None, sasl: Sasl | None, on_end: Callable[..., None]
) -> AIOKafkaConnection:
    try:
        return await open_connection(
            address.host,
            address.port,
            client_id=CLIENT_ID,
            request_timeout_ms=REQUEST_TIMEOUT_MS,
            on_close=on_end,
            **await asyncio.to_thread(security_options, tls, sasl),  # it may read a file
        )
    except KafkaConnectionError as error:
        hint = "the broker closed the connection at once" + ("" if tls else "; does this port speak TLS?")
        raise ConversationError(f"{address}: {hint}") from error
    except CONNECT_ERRORS as error:
        raise ConversationError(f"{address}: {connect_text(error, over_tls=tls is not None)}") from error
    except KafkaError as error:
        _forget_token(sasl)
        raise RejectedError(f"{address}: {_error_text(error)}") from error
    except Exception as error:
        if sasl is not None and isinstance(sasl.credentials, Kerberos):
            # gssapi has an error class for each code of Kerberos, and none of these classes is aiokafka's.
            raise RejectedError(f"{address}: no Kerberos login: {type(error).__name__}") from error
        if isinstance(error, _UNREADABLE):
            raise ConversationError(f"{address}: {_unreadable_text(error)}") from error
        raise


def _forget_token(sasl: Sasl | None) -> None:
    """A broker has rejected a login: its token may have been withdrawn."""
    if sasl is not None and sasl.brings_token:
        token_provider(sasl.credentials).forget()


def _unreadable_text(error: Exception) -> str:
    why = error if isinstance(error, DecodeError) else type(error).__name__
    return f"an answer that cannot be read: {why}"


def _cluster(answer: Any) -> ClusterAnswer:
    if len(answer.brokers) > MAX_BROKERS:
        raise DecodeError(f"{many(len(answer.brokers), 'broker')}, where {MAX_BROKERS:,} are allowed")
    brokers = {node_id: Address(host, port) for node_id, host, port, *_ in answer.brokers}
    for node_id, address in brokers.items():
        if node_id < 0 or not 0 < len(address.host) <= _MAX_HOST or not 0 < address.port <= _MAX_PORT:
            shown = f"{address.host[:_MAX_HOST]!r}:{address.port}"
            raise DecodeError(f"a broker that cannot be: node {node_id} at {shown}")
    # (error_code, topic, is_internal, partitions)
    topics = tuple(topic[1] for topic in answer.topics if topic[0] == 0 and not topic[2])
    return ClusterAnswer(getattr(answer, "cluster_id", None), brokers, topics)


def _offers(answer: Any) -> BrokerVersions:
    offered = answer.api_versions if answer.error_code == ErrorCode.NONE else ()
    return {key: (oldest, newest) for key, oldest, newest, *_ in offered}


def _mechanisms(answer: Any) -> tuple[str, ...] | None:
    if answer.error_code == ErrorCode.ILLEGAL_SASL_STATE:
        return None
    return tuple(sorted(answer.enabled_mechanisms))


def _described(answer: Any) -> list[TopicAnswer]:
    return [_answer(resource) for resource in answer.resources]


def _answer(resource: Sequence[Any]) -> TopicAnswer:
    error_code, _, _, name, entries = resource
    known = entries if error_code == 0 else ()
    return TopicAnswer(
        name,
        error_code,
        {entry[0]: entry[1] for entry in known},
        defaults=frozenset(entry[0] for entry in known if _is_default(entry[3])),
        overrides=frozenset(entry[0] for entry in known if _is_own(entry[3])),
    )


def _is_own(source: bool | int) -> bool:
    """True if the topic may have set the value itself. v0 names no source: it only marks the settings that
    nobody has set, so any other setting may be the topic's own."""
    return not source if isinstance(source, bool) else source == _TOPIC_CONFIG


def _is_default(source: bool | int) -> bool:
    """True if nobody has set the value. v0 has a flag for that, v1 and later name the source."""
    return source if isinstance(source, bool) else source == _DEFAULT_CONFIG


def _error_text(error: KafkaError) -> str:
    name = getattr(error, "message", "") or type(error).__name__
    return f"{name}: {error.args[0]}" if error.args and isinstance(error.args[0], str) else name

"""One listener of the proxy in front of a server that answers as a broker would, in this process."""

import asyncio
import contextlib
import socket
import ssl
from types import MappingProxyType

from tests.kit.broker import ScriptedBroker
from tests.proxy.frames import answer, request
from tests.proxy.world import World, until
from tsproxy.cluster.upstream import Upstream
from tsproxy.config import load
from tsproxy.config.document import parse_yaml
from tsproxy.config.settings import ListenerTls, UpstreamTls
from tsproxy.model.addresses import Address
from tsproxy.proxy.brokers.facts import ClusterFacts
from tsproxy.proxy.connections.listener import ProxyListener
from tsproxy.tls.contexts import server_context, upstream_context

HOST = "127.0.0.1"


def config_of(upstreams, listener="{ bind: '127.0.0.1:0' }", limits="{}"):
    servers = ", ".join(f"'{each}'" for each in upstreams)
    text = f"upstream: {{ bootstrap_servers: [{servers}] }}\nlisteners: [{listener}]\nlimits: {limits}\n"
    return load(parse_yaml(text, "test"), {})


def tls_of(identity, client_ca=None, client_auth="none"):
    """The context of a server, for whoever asks."""
    files = {"certificate": identity.certificate, "key": identity.key, "client_ca": client_ca}
    context = server_context(ListenerTls(**files, client_auth=client_auth))
    return lambda: context


def to_brokers(certificates, identity=None):
    """The context for connections to brokers of this authority, for whoever asks."""
    shown = (identity.certificate, identity.key) if identity else ()
    context = upstream_context(UpstreamTls(certificates.certificate, *shown))
    return lambda: context


def facts_of(brokers):
    return ClusterFacts("cluster", MappingProxyType(brokers))


@contextlib.asynccontextmanager
async def echoing_broker(tls=None, answer_bytes=100):
    """A server that answers each request frame of `tests.proxy.frames`; yields its address."""
    script = ScriptedBroker(otherwise=lambda question: answer(question.correlation_id, answer_bytes), tls=tls)
    async with script as broker:
        yield broker.address


@contextlib.contextmanager
def dropping(host, port=0):
    """An address whose packets the system drops: the queue of those who wait to be accepted is full."""
    with contextlib.ExitStack() as ends:
        server = ends.enter_context(socket.create_server((host, port), backlog=0))
        for _ in range(4):
            waiting = ends.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(server.getsockname())
        yield Address(*server.getsockname())


@contextlib.asynccontextmanager
async def front_of(config, world, *, tls=None, upstream_tls=None, opens=True):
    """The first listener of this configuration. It lets clients in at once, or when `open` is called."""
    proxy_listener = ProxyListener(
        config.listeners[0], config, tls, Upstream(upstream_tls), world.surroundings
    )
    if opens:
        proxy_listener.open()
    try:
        yield proxy_listener
    finally:
        proxy_listener.stop_accepting()
        await proxy_listener.stop_connecting()
        for relay in list(proxy_listener.relays):
            relay.abort()
        await until(lambda: not proxy_listener.relays)


@contextlib.asynccontextmanager
async def before_broker(listener="{ bind: '127.0.0.1:0' }", world=None, **options):
    """A listener before an echoing broker, and that broker's address."""
    async with (
        echoing_broker() as broker,
        front_of(config_of([broker], listener), world or World(), **options) as proxy_listener,
    ):
        yield proxy_listener, broker


@contextlib.asynccontextmanager
async def serving(world=None, listener="{ bind: '127.0.0.1:0' }", **tls):
    """The same listener alone. It lets clients in."""
    async with before_broker(listener, world, **tls) as (proxy_listener, _):
        yield proxy_listener


async def ask(address, tls=None, host="localhost"):
    """One request and its answer over a connection of its own; b"" where the other end just closes."""
    reader, writer = await asyncio.open_connection(
        address.host, address.port, ssl=tls, server_hostname=host if tls else None
    )
    try:
        writer.write(request(5))
        return await reader.read(len(answer(5)))
    finally:
        writer.close()


async def is_let_in(address, context):
    try:
        return await ask(address, context) == answer(5)
    except (ssl.SSLError, ConnectionError):  # TLS 1.3 clients learn of it at their first read
        return False


def connections(world):
    """Open connections by state."""
    states = ("connecting", "relaying", "finishing", "closing")
    return {s: world.metric(f'tsproxy_connections{{listener="default",state="{s}"}}') for s in states}

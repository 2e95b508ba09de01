"""The PROXY protocol as real load balancers speak it: haproxy sends version 2, nginx version 1."""

import asyncio
import contextlib
import shutil
from pathlib import Path

import pytest

from tests.kit.client import connect
from tests.proxy.frames import answer, request
from tests.proxy.proxy_listeners import HOST, serving
from tests.proxy.world import World, until
from tsproxy.model.addresses import Address
from tsproxy.testing.ports import free_ports

PROXIED = "{ bind: '127.0.0.1:0', proxy_protocol: { from: [127.0.0.1] } }"

HAPROXY = """\
defaults
  mode tcp
  timeout connect 5s
  timeout client 60s
  timeout server 60s
listen kafka
  bind 127.0.0.1:{port}
  bind [::1]:{port}
  unique-id-format %pid-%rt
  server proxy {upstream} {options}
"""
MODULE = Path("/usr/lib/nginx/modules/ngx_stream_module.so")
STREAM = f"load_module {MODULE};" if MODULE.exists() else ""
"""A package of its own in Debian (libnginx-mod-stream). Elsewhere nginx has it inside."""
NGINX = """\
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
{module}
events {{}}
stream {{ server {{ listen 127.0.0.1:{port}; proxy_pass {upstream}; proxy_protocol on; }} }}
"""


def needs(tool):
    """The test runs only where the tool is."""
    return pytest.mark.skipif(shutil.which(tool) is None, reason=f"{tool} is not installed")


@contextlib.asynccontextmanager
async def running(*command):
    process = await asyncio.create_subprocess_exec(*map(str, command), stderr=asyncio.subprocess.DEVNULL)
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await process.wait()


@contextlib.asynccontextmanager
async def haproxy(folder, upstream, options):
    [port] = free_ports(1)
    file = folder / "haproxy.cfg"
    file.write_text(HAPROXY.format(port=port, upstream=upstream, options=options))
    async with running("haproxy", "-db", "-f", file):
        yield port


@contextlib.asynccontextmanager
async def nginx(folder, upstream):
    [port] = free_ports(1)
    file = folder / "nginx.conf"
    file.write_text(NGINX.format(port=port, upstream=upstream, folder=folder, module=STREAM))
    async with running("nginx", "-p", folder, "-c", file):
        yield port


async def connected(port, source):
    """A connection from this address, as soon as the load balancer listens."""
    host = "::1" if ":" in source else HOST

    async def attempt():
        try:
            return await connect(Address(host, port), local_addr=(source, 0))
        except ConnectionError:
            return None

    return await until(attempt)


async def addressed(proxy_listener, port, source):
    """(The address that the proxy knows the client by, the client's own), after a request and its answer."""
    async with await connected(port, source) as client:
        assert await client.frame(request(5)) == answer(5)[4:]
        own = client.fact("sockname")[:2]
        known = [(relay.peer.client_address, relay.peer.client_port) for relay in proxy_listener.relays]
        assert own in known
        return own


PLAIN = "send-proxy-v2"
WITH_TLVS = "send-proxy-v2 proxy-v2-options crc32c,unique-id,ssl,cert-cn,authority"


@needs("haproxy")
@pytest.mark.parametrize("options", [PLAIN, WITH_TLVS], ids=["plain", "TLVs"])
@pytest.mark.parametrize("source", ["127.0.0.7", "::1"])
async def test_behind_haproxy_clients_have_their_own_addresses(tmp_path, options, source):
    world = World()
    async with (
        serving(world, listener=PROXIED) as proxy_listener,
        haproxy(tmp_path, proxy_listener.address, options) as port,
    ):
        assert (await addressed(proxy_listener, port, source))[0] == source
        await until(lambda: not proxy_listener.relays)
    assert world.logged.of("proxy_header_rejected") == []


@needs("haproxy")
async def test_health_checks_of_haproxy_are_no_clients_and_are_not_logged(tmp_path):
    """They send a header of their own (LOCAL), and end."""
    world = World()
    async with serving(world, listener=PROXIED) as proxy_listener:
        options = f"{PLAIN} check check-send-proxy inter 20ms"
        async with haproxy(tmp_path, proxy_listener.address, options) as port:
            await until(lambda: "tsproxy_sessions_closed_total{" in world.metrics.render().decode())
            assert (await addressed(proxy_listener, port, "127.0.0.7"))[0] == "127.0.0.7"
            assert world.logged.lines == []  # afterwards, a check may be cut off while it connects


@needs("nginx")
async def test_version_1_of_nginx_is_rejected_and_the_log_says_what_to_do(tmp_path):
    world = World()
    async with (
        serving(world, listener=PROXIED) as proxy_listener,
        nginx(tmp_path, proxy_listener.address) as port,
        await connected(port, "127.0.0.7") as client,
    ):
        client.send(request(5))
        assert await client.rest() == b""
    [line] = world.logged.of("proxy_header_rejected")
    assert "version 1" in line["error"]

"""The table of measured proxies.

A row starts one proxy in the foreground: it writes the configuration and returns the command. Each proxy has
one worker or thread, so that CPU is compared, not parallelism.
"""

import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.processes import Command
from benchmarks.tools import MissingError, find
from tsproxy.testing.client_options import Identity

TUNED_BUFFER_BYTES: Final = 262_144
"""The default of haproxy and nginx, 16 KiB, costs two to three times the CPU for large frames."""


BROKERS: Final = 5
"""The brokers that have a port at tsproxy: node ids 0 to 4."""


@dataclass(frozen=True, slots=True)
class Place:
    """The port and folder of a proxy. It may use the ports up to `port` + BROKERS.

    If clients speak TLS, `identity` has its certificate.
    """

    port: int
    upstream_port: int
    folder: Path
    identity: Identity | None = None


@dataclass(frozen=True, slots=True)
class Proxy:
    """One row. `command` raises MissingError if the program is not on this machine."""

    name: str
    command: Callable[[Place], Command]
    start_s: float = 60.0
    """The time limit until it accepts connections."""


def _haproxy(*settings: str) -> Callable[[Place], Command]:
    def command(place: Place) -> Command:
        tls = f" ssl crt {place.identity.keystore}" if place.identity else ""
        config = place.folder / "haproxy.cfg"
        config.write_text(
            "\n".join(
                (
                    "global",
                    "  nbthread 1",
                    "  maxconn 4096",
                    *(f"  {setting}" for setting in settings),
                    "defaults",
                    "  mode tcp",
                    "  timeout connect 10s",
                    "  timeout client 10m",
                    "  timeout server 10m",
                    "listen bench",
                    f"  bind 127.0.0.1:{place.port}{tls}",
                    f"  server sink 127.0.0.1:{place.upstream_port}\n",
                )
            )
        )
        return (find("haproxy"), "-q", "-db", "-f", config)

    return command


def _nginx(place: Place) -> Command:
    tls = ""
    if place.identity:
        tls = f"ssl_certificate {place.identity.certificate}; ssl_certificate_key {place.identity.key};"
    program = find("nginx")
    config = place.folder / "nginx.conf"
    config.write_text(
        f"""\
load_module {nginx_stream_module(program)};
daemon off;
worker_processes 1;
pid {place.folder}/nginx.pid;
error_log stderr;
events {{ worker_connections 4096; }}
stream {{
  server {{
    listen 127.0.0.1:{place.port}{" ssl" if tls else ""};
    {tls}
    proxy_pass 127.0.0.1:{place.upstream_port};
    proxy_buffer_size {TUNED_BUFFER_BYTES};
  }}
}}
"""
    )
    return (program, "-q", "-p", place.folder, "-c", config, "-e", "stderr")


def nginx_stream_module(nginx: Path) -> Path:
    """The module's path, in the folder that nginx was built for. Without such a folder the path is nginx's
    default, relative to its prefix. Raises MissingError if the folder does not have the module."""
    name = "ngx_stream_module.so"
    built = subprocess.run([nginx, "-V"], capture_output=True, text=True, check=True).stderr
    folder = re.search(r"--modules-path=(\S+)", built)
    if folder is None:
        return Path("modules") / name
    module = Path(folder[1]) / name
    if not module.exists():
        raise MissingError(f"{module} is missing: apt-get install libnginx-mod-stream")
    return module


EVERY_BATCH: Final = "policy: { defaults: { inspect: { compressed: all } } }"


def tsproxy(*flags: str, policy: str = EVERY_BATCH) -> Callable[[Place], Command]:
    """A command for tsproxy with its defaults, except that it reads every compressed batch: enforcement,
    throttling, decision log, metrics. `policy` is that section of its file."""

    def command(place: Place) -> Command:
        tls = ""
        if place.identity:
            tls = f"\n    tls: {{ certificate: {place.identity.certificate}, key: {place.identity.key} }}"
        config = place.folder / "tsproxy.yaml"
        config.write_text(
            f"""\
upstream: {{ bootstrap_servers: ["127.0.0.1:{place.upstream_port}"] }}
listeners:
  - name: bench
    bind: 127.0.0.1:{place.port}
    brokers: {{ ports_from: {place.port + 1}, count: {BROKERS} }}{tls}
decisions: {{ directory: {place.folder / "decisions"} }}
{policy}
admin: {{ bind: "127.0.0.1:0" }}
"""
        )
        program = Path(sys.executable).with_name("tsproxy")
        return (program, "run", "--config", config, *flags)

    return command


def _kafka_proxy(program: Path) -> Callable[[Place], Command]:
    def command(place: Place) -> Command:
        tls: tuple[str, ...] = ()
        if place.identity:
            tls = (
                "--proxy-listener-tls-enable",
                f"--proxy-listener-cert-file={place.identity.certificate}",
                f"--proxy-listener-key-file={place.identity.key}",
            )
        mapping = f"--bootstrap-server-mapping=127.0.0.1:{place.upstream_port},127.0.0.1:{place.port}"
        return (program, "server", mapping, "--http-disable", "--log-level=error", *tls)

    return command


def _kroxylicious(program: Path) -> Callable[[Place], Command]:
    def command(place: Place) -> Command:
        tls = ""
        if place.identity:
            tls = (
                f"\n        tls: {{ key: {{ privateKeyFile: {place.identity.key},"
                f" certificateFile: {place.identity.certificate} }} }}"
            )
        config = place.folder / "kroxylicious.yaml"
        config.write_text(
            f"""\
virtualClusters:
  - name: bench
    targetCluster: {{ bootstrapServers: "127.0.0.1:{place.upstream_port}" }}
    gateways:
      - name: bench
        portIdentifiesNode: {{ bootstrapAddress: "127.0.0.1:{place.port}" }}{tls}
"""
        )
        return (program, "--config", config)

    return command


HAPROXY: Final = Proxy("haproxy", _haproxy(f"tune.bufsize {TUNED_BUFFER_BYTES}"))
"""The baseline: TCP mode, one thread, large buffers."""

AGAIN: Final = Proxy("haproxy, again", HAPROXY.command)
"""The baseline against itself: the effect of noise alone."""

TSPROXY: Final = Proxy("tsproxy", tsproxy("--loop", "uvloop"))
TSPROXY_ASYNCIO: Final = Proxy("tsproxy, asyncio", tsproxy("--loop", "asyncio"))
UNTHROTTLED: Final = ("--loop", "uvloop", "--set", "limits.throttle=off")

FURTHER: Final = (
    AGAIN,
    Proxy("haproxy, default buffers", _haproxy()),
    Proxy("nginx stream", _nginx),
    TSPROXY_ASYNCIO,
)
"""Two loads show what these cost beside the others (`relay`)."""

PROXIES: Final = (HAPROXY, TSPROXY, *FURTHER)

PEERS: Final = {
    "kafka-proxy": _kafka_proxy,
    "kroxylicious": _kroxylicious,
}
"""Further proxies, measured only if the command line names their programs."""


def peer(name: str, program: Path) -> Proxy:
    """The row of a further proxy, whose program (for Kroxylicious a start script) is `program`."""
    return Proxy(name, PEERS[name](program.resolve()))

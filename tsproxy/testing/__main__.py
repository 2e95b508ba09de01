"""`python -m tsproxy.testing`: a real Kafka to try things with, until Ctrl-C.

    python -m tsproxy.testing --port 9092

It is a `KafkaCluster` with its options as flags. When it ends, by whatever cause, the brokers end and their
data is deleted.
"""

import argparse
import asyncio
import re
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

from tsproxy.testing.certificates import CertificateAuthority
from tsproxy.testing.jars import JarsError
from tsproxy.testing.java import JavaError
from tsproxy.testing.kafka_cluster import DEFAULT_VERSION, KafkaCluster
from tsproxy.testing.kafka_node import KafkaStartError

_LAST_PORT: Final = 65_535


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the brokers until Ctrl-C. Returns 0, or 1 if they could not start."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        cluster = _cluster(options)
    except ValueError as error:
        parser.error(str(error))
    try:
        asyncio.run(_serve(cluster))
    except KeyboardInterrupt:
        print("stopped")
    except (JavaError, JarsError, KafkaStartError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


async def _serve(cluster: KafkaCluster) -> None:
    async with cluster:
        print(f"Kafka {cluster.version} serves at {cluster.bootstrap_servers}", flush=True)
        print("Ctrl-C stops it and deletes its data.", flush=True)
        await asyncio.get_running_loop().create_future()


def _cluster(options: argparse.Namespace) -> KafkaCluster:
    """Raises ValueError if an option cannot be used, or the options do not fit together."""
    if options.nodes < 1:
        raise ValueError(f"--nodes {options.nodes}: must be 1 or more")
    last_port = _LAST_PORT - options.nodes + 1
    if not 1 <= options.port <= last_port:
        raise ValueError(f"--port {options.port}: must be from 1 to {last_port}: each broker has a port")
    if not re.fullmatch(r"[0-9]+(\.[0-9]+){2}", options.version):
        raise ValueError(f"--version {options.version}: must be three numbers, such as {DEFAULT_VERSION}")
    if options.security in {"SSL", "SASL_SSL"} and options.certificates is None:
        raise ValueError(f"--security {options.security} needs --certificates FOLDER")
    authority = None
    if options.certificates is not None:
        try:
            options.certificates.mkdir(parents=True, exist_ok=True)
            authority = CertificateAuthority(options.certificates)
            authority.issue("proxy")
        except OSError as error:
            text = f"--certificates {options.certificates}: must be a folder to write to: {error.strerror}"
            raise ValueError(text) from error
    return KafkaCluster(
        options.version,
        options.nodes,
        security=options.security,
        authority=authority,
        users=dict(options.user),
        properties=dict(options.property),
        port=options.port,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m tsproxy.testing", description="Runs real Kafka brokers on 127.0.0.1 until Ctrl-C."
    )
    add = parser.add_argument
    add(
        "--port",
        type=int,
        default=9092,
        help="the first broker's port (9092); others have the ports after it",
    )
    add("--version", default=DEFAULT_VERSION, help=f"the Kafka version ({DEFAULT_VERSION})")
    add("--nodes", type=int, default=1, help="how many brokers (1)")
    add("--security", default="PLAINTEXT", help="PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL")
    add(
        "--user",
        type=partial(_pair, ":"),
        action="append",
        default=[],
        metavar="NAME:PASSWORD",
        help="a SASL user",
    )
    add(
        "--property",
        type=partial(_pair, "="),
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a line for server.properties",
    )
    add(
        "--certificates",
        type=Path,
        metavar="FOLDER",
        help="for SSL and SASL_SSL: writes ca.pem here, and a certificate for a proxy on this machine "
        "(proxy-cert.pem, proxy-key.pem)",
    )
    return parser


def _pair(separator: str, text: str) -> tuple[str, str]:
    """The parts of NAME:PASSWORD or NAME=VALUE, at the first separator."""
    name, mark, value = text.partition(separator)
    if not (name and mark):
        raise argparse.ArgumentTypeError(f"'{text}' has no name before a '{separator}'")
    return name, value


if __name__ == "__main__":
    raise SystemExit(main())

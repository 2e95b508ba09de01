"""`tsproxy health`: asks a proxy's admin port whether the proxy lives. For a container's HEALTHCHECK.

It reads no configuration: a file may have changed since the proxy read it, and a file with a mistake says
nothing about the proxy that runs. So it finds out by itself whether the port uses TLS.
"""

import argparse
import http.client
import ssl
import sys
from typing import Final

from tsproxy.commands.exits import FAILED, OK
from tsproxy.commands.options import argument
from tsproxy.config.values import duration_ms, upstream_address
from tsproxy.model.addresses import Address

HELP: Final = "check whether a proxy is alive"
EXAMPLES: Final = """\
examples:
  tsproxy health
  tsproxy health --admin 127.0.0.1:9470 --ready

Status 0: /livez (with --ready: /readyz) of the admin port answered 200. Status 1: it did not, or not in time.
The command needs no token, and finds out whether the port uses TLS. It checks no certificate.
"""

_ASKS_FOR_CERTIFICATE: Final = (
    "alive: it answered the TLS handshake, and gives pages only to readers with a certificate"
)


def add(health: argparse.ArgumentParser) -> None:
    health.add_argument(
        "--admin",
        metavar="H:P",
        type=argument(upstream_address),
        default="127.0.0.1:9464",
        help="admin.bind of the proxy (127.0.0.1:9464)",
    )
    health.add_argument("--ready", action="store_true", help="ask whether clients can be served: /readyz")
    health.add_argument(
        "--timeout",
        metavar="DURATION",
        type=argument(duration_ms),
        default="2s",
        help="how long to wait for each step (2s)",
    )
    health.set_defaults(command=_health)


def _health(options: argparse.Namespace) -> int:
    path, timeout_s = "/readyz" if options.ready else "/livez", options.timeout / 1_000
    try:
        status, text = _ask(options.admin, path, timeout_s)
    except TimeoutError:
        print(f"tsproxy: no answer from {options.admin} within {timeout_s:g} s", file=sys.stderr)
        return FAILED
    except (OSError, http.client.HTTPException) as error:
        print(f"tsproxy: no answer from {options.admin}: {error}", file=sys.stderr)
        return FAILED
    if status == http.HTTPStatus.OK:
        print(text)
        return OK
    print(f"tsproxy: {options.admin}{path} has status {status}: {text}", file=sys.stderr)
    return FAILED


def _ask(admin: Address, path: str, timeout_s: float) -> tuple[int, str]:
    """Status and text of a page. Raises OSError and HTTPException."""
    try:
        return _page(http.client.HTTPConnection(admin.host, admin.port, timeout=timeout_s), path)
    except (ConnectionResetError, http.client.BadStatusLine):
        # A port that uses TLS closes a connection that begins with plain text.
        return _ask_over_tls(admin, path, timeout_s)


def _ask_over_tls(admin: Address, path: str, timeout_s: float) -> tuple[int, str]:
    context = ssl.create_default_context()
    context.check_hostname = False  # the certificate is for another name than this address
    context.verify_mode = ssl.CERT_NONE
    connection = http.client.HTTPSConnection(admin.host, admin.port, timeout=timeout_s, context=context)
    connection.connect()
    try:
        return _page(connection, path)
    except (ssl.SSLError, ConnectionError, http.client.BadStatusLine):
        if path == "/readyz":
            raise
        # The event loop has answered the handshake, and /livez says no more than that.
        return http.HTTPStatus.OK, _ASKS_FOR_CERTIFICATE


def _page(connection: http.client.HTTPConnection, path: str) -> tuple[int, str]:
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read().decode("utf-8", "replace").strip()
    finally:
        connection.close()

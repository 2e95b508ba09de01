"""`tsproxy capacity`: how many workers a traffic needs, estimated from the metrics of a running proxy."""

import argparse
import http.client
import json
import os
import ssl
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tsproxy.commands.exits import FAILED, OK
from tsproxy.commands.options import argument
from tsproxy.config.values import duration_ms, token, upstream_address, whole_number
from tsproxy.model.addresses import Address

if TYPE_CHECKING:
    from tsproxy.offline.capacity import Reading

HELP: Final = "how many workers your traffic needs"
EXAMPLES: Final = """\
examples:
  tsproxy capacity
  tsproxy capacity --admin 10.1.2.3:9464 --over 5m --traffic 250 --traffic 2000
  tsproxy capacity --json | jq '.needs[]'

Reads the metrics of a running proxy twice, and changes nothing. Measure at a busy time.
If the proxy has an admin.token, put it into the environment variable TSPROXY_ADMIN_TOKEN.
"""

PATIENCE_S: Final = 10
TOKEN_VARIABLE: Final = "TSPROXY_ADMIN_TOKEN"  # noqa: S105  # the name of a variable
_STEP_S: Final = 1.0


def add(capacity: argparse.ArgumentParser) -> None:
    capacity.add_argument(
        "--admin",
        metavar="H:P",
        type=argument(upstream_address),
        default="127.0.0.1:9464",
        help="admin.bind of the proxy (127.0.0.1:9464)",
    )
    capacity.add_argument(
        "--tls",
        action="store_true",
        help="the admin port uses TLS (admin.tls); its certificate is checked",
    )
    capacity.add_argument(
        "--ca",
        metavar="FILE",
        help="the same, with a PEM file of the authorities for that check (those of the system)",
    )
    capacity.add_argument(
        "--over",
        metavar="DURATION",
        type=argument(duration_ms),
        default="1m",
        help="the time between the two scrapes (1m)",
    )
    capacity.add_argument(
        "--traffic",
        metavar="MB",
        type=argument(whole_number(1, 10_000_000)),
        action="append",
        default=[],
        help="megabytes a second, of both directions together (100 and 1000)",
    )
    capacity.add_argument(
        "--busy",
        metavar="PERCENT",
        type=argument(whole_number(1, 100)),
        default=60,
        help="how busy a worker may be (60)",
    )
    capacity.add_argument("--json", action="store_true", help="all figures")
    capacity.set_defaults(command=_capacity)


def _capacity(options: argparse.Namespace) -> int:
    from tsproxy.offline.capacity import TRAFFIC_MB_S, NoEstimateError, as_json, as_text, measured, need

    try:
        found = measured(*_two_readings(_source(options), options.over))
    except NoEstimateError as error:
        print(f"tsproxy: {error}", file=sys.stderr)
        return FAILED
    except (OSError, http.client.HTTPException) as error:
        print(f"tsproxy: no metrics from {options.admin}: {error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        return FAILED
    busy = options.busy / 100
    needs = [need(found, each, busy) for each in options.traffic or TRAFFIC_MB_S]
    print(json.dumps(as_json(found, needs, busy), indent=2) if options.json else as_text(found, needs, busy))
    return OK


@dataclass(frozen=True, slots=True)
class _Source:
    """The place of the metrics. `tls` is None if the admin port does not use TLS."""

    admin: Address
    tls: ssl.SSLContext | None
    token: str | None


def _source(options: argparse.Namespace) -> _Source:
    """The place of the metrics, from the options. Raises OSError if the file of authorities cannot be used,
    HTTPException if the token is not allowed in a header."""
    tls = ssl.create_default_context(cafile=options.ca) if options.tls or options.ca else None
    text = os.environ.get(TOKEN_VARIABLE, "").strip()
    try:
        return _Source(options.admin, tls, token(text).reveal() if text else None)
    except ValueError as error:
        raise http.client.HTTPException(f"{TOKEN_VARIABLE} must be {error}") from None


def _two_readings(source: _Source, over_ms: int) -> "tuple[Reading, Reading]":
    """The metrics now and `over_ms` later. Raises OSError, HTTPException and NoEstimateError."""
    from tsproxy.clock import Clock
    from tsproxy.offline.capacity import read_metrics
    from tsproxy.offline.progress import Progress

    clock = Clock()
    first = read_metrics(_scrape(source), clock.monotonic_ms())
    with Progress(clock) as progress:
        while (left_ms := first.at_ms + over_ms - clock.monotonic_ms()) > 0:
            progress(f"measuring for {left_ms / 1_000:.0f} s more")
            time.sleep(min(left_ms / 1_000, _STEP_S))
    return first, read_metrics(_scrape(source), clock.monotonic_ms())


def _scrape(source: _Source) -> str:
    host, port = source.admin.host, source.admin.port
    connection = (
        http.client.HTTPSConnection(host, port, timeout=PATIENCE_S, context=source.tls)
        if source.tls
        else http.client.HTTPConnection(host, port, timeout=PATIENCE_S)
    )
    headers = {"Authorization": f"Bearer {source.token}"} if source.token else {}
    try:
        connection.request("GET", "/metrics", headers=headers)
        response = connection.getresponse()
        body = response.read()
    finally:
        connection.close()
    if response.status == http.HTTPStatus.UNAUTHORIZED:
        raise http.client.HTTPException(f"the proxy wants its admin.token: set {TOKEN_VARIABLE}")
    if response.status != http.HTTPStatus.OK:
        raise http.client.HTTPException(f"status {response.status}")
    return body.decode("utf-8", "replace")

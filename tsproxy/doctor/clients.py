"""The clients that Kafka 4 refuses by their protocol (KIP-896), as the proxy at `admin.bind` has seen them.

If no proxy answers there, or it wants a token or TLS, nothing is said: most examinations come before a start.
"""

import asyncio
import json
from contextlib import closing
from http.client import HTTPConnection, HTTPException
from typing import Any, Final

from tsproxy.config.settings import Config
from tsproxy.decisions.old_requests import use_text
from tsproxy.doctor.findings import Check, Finding, few
from tsproxy.model.addresses import Address
from tsproxy.model.words import many

CLIENTS: Final = Check("clients")
_PATIENCE_S: Final = 2


async def examine(config: Config) -> list[Finding]:
    if config.admin.bind is None:
        return []
    try:
        return [_finding(*await asyncio.to_thread(_refused, config.admin.bind))]
    except (OSError, HTTPException, ValueError, LookupError, TypeError):  # no proxy, or another program
        return []


def _finding(refused: list[dict[str, Any]], clients: int) -> Finding:
    if not refused:
        return CLIENTS.ok("Kafka 4 refuses none of those that the running proxy has seen")
    uses = few([use_text(row) for row in refused])
    text = f"Kafka 4 refuses {many(clients, 'client')} by protocol (KIP-896): {uses}"
    return CLIENTS.warning(text, "update their libraries first; /decisions/top of the admin port lists them")


def _refused(admin: Address) -> tuple[list[dict[str, Any]], int]:
    """The rows, and the number of all clients: the rows are of some of them."""
    with closing(HTTPConnection(admin.host, admin.port, timeout=_PATIENCE_S)) as connection:
        connection.request("GET", "/decisions/top")
        answer = json.load(connection.getresponse())
    return answer["refused_by_kafka_4"], answer["clients_refused_by_kafka_4"]

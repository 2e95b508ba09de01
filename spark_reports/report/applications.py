"""The application of a client id: the unit of a report. Plain Python.

Many programs take a new client id at each start. Each of these ids would be new every day, and sixty of them
would be the sixty worst rows. So ids that differ only in what a program makes up (RULES) are one application:
`orders-app-*`. The entries `[[applications]]` of the owners' file name others.
"""

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from spark_reports.report import words
from tsproxy.model.policy import NamePattern

MAX_CHARS: Final = 256
"""A longer id stays as it is: the time of a rule grows with the square of its length."""

_CHARACTER: Final = "[b-df-hj-np-tv-xz24-9]"
"""A character of a name that Kubernetes makes up (apimachinery, util/rand)."""
_POD: Final = f"(?=[24-9]*[b-z]){_CHARACTER}{{5}}"
"""The end of a pod's name. A number of five digits is rather one of a machine."""
_REST: Final = r"(?=(?:-\d+|-\*)?$)"
"""The end of an id, before the number of a client in its process."""


@dataclass(frozen=True, slots=True)
class Rule:
    """The part of an id that a program makes up, which `shown` replaces. `example`: an id, and its name."""

    source: str
    made_up: re.Pattern[str]
    shown: str
    example: tuple[str, str]


RULES: Final = (
    Rule(
        "Kafka Streams: KafkaStreams.java (application id and a UUID), StreamThread and StreamsProducer",
        re.compile(r"-StreamThread-\d+(?:-\w*\d_\d+)?-producer$"),
        "-*",
        ("orders-app-0a6c0f0e-5f0b-4c8e-9b8e-1f6f0c2d3e4f-StreamThread-2-producer", "orders-app-*"),
    ),
    Rule(
        "Kafka Connect: Worker.java, the task's number; also for dead letters",
        re.compile(r"^(connector-(?:dlq-)?producer-.+)-\d+$"),
        r"\1-*",
        ("connector-producer-jdbc-orders-3", "connector-producer-jdbc-orders-*"),
    ),
    Rule(
        "Flink: TransactionalIdFactory.java (prefix, subtask, checkpoint), behind Kafka's own `producer-`",
        re.compile(r"^(producer-.+)-\d+-\d+$"),
        r"\1-*",
        ("producer-clicks-sink-4-1187", "producer-clicks-sink-*"),
    ),
    Rule(
        "a UUID",
        re.compile(r"(?<![0-9A-Za-z])[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}(?![0-9A-Za-z])"),
        "*",
        ("etl-0a6c0f0e-5f0b-4c8e-9b8e-1f6f0c2d3e4f", "etl-*"),
    ),
    Rule(
        "Kubernetes: a pod of a Deployment, with the hash of its ReplicaSet (SafeEncodeString)",
        re.compile(f"-[4-9bcdf]{{6,10}}-{_POD}{_REST}"),
        "-*",
        ("checkout-6d4cf56db6-x2x4z", "checkout-*"),
    ),
    Rule(
        "Kubernetes: a pod of a CronJob, with its time in minutes or seconds",
        re.compile(rf"-\d{{8,10}}-{_POD}{_REST}"),
        "-*",
        ("reports-29402880-8xk2p", "reports-*"),
    ),
    Rule(
        # Also of letters alone, or with one digit at the end: but so is `https` or `mqtt5`.
        "Kubernetes: a pod of a Job or a DaemonSet",
        re.compile(f"-(?={_CHARACTER}{{0,3}}[24-9]){_POD}{_REST}"),
        "-*",
        ("collector-7kq9v", "collector-*"),
    ),
    Rule(
        "Docker: a container's host name, the first 12 digits of its id",
        re.compile(rf"(?:^|(?<=-))(?=\d*[a-f])(?=[a-f]*\d)[0-9a-f]{{12}}{_REST}"),
        "*",
        ("billing-3f2a9c81b7d4", "billing-*"),
    ),
)
"""The rules, in the order in which they are applied: one may leave what another one finds. The ordinal of a
StatefulSet's pod stays, since it is the same at each start, and so does `producer-1`, which Kafka's client
calls itself in each program without a client id. Spark's Kafka sink has no client ids of its own."""

_STARS: Final = re.compile(r"\*(?:-\*)+")


def folded(client_id: str) -> str:
    """The id with a star for what a program makes up (RULES)."""
    if len(client_id) > MAX_CHARS:
        return client_id
    name = client_id
    for rule in RULES:
        name = rule.made_up.sub(rule.shown, name)
    return client_id if name == client_id else _STARS.sub("*", name)


@dataclass(frozen=True, slots=True)
class Application:
    """An entry `[[applications]]`: the clients whose id fits one of the patterns."""

    name: str
    client_ids: tuple[NamePattern, ...]


def name_of(client_id: str | None, entries: Collection[Application] = ()) -> str | None:
    """The application of a client, as tables show it: the first entry that fits, else `folded`. A client that
    is only called as an application may be has a backslash in front: it is none of its clients."""
    sent_id = words.true_id(client_id)
    if client_id is None or sent_id is None:
        return client_id
    for entry in entries:
        if any(ids.fits(sent_id) for ids in entry.client_ids):
            return entry.name
    name = folded(client_id)
    is_like_one = "*" in client_id or any(name.lstrip("\\") == entry.name for entry in entries)
    return f"\\{name}" if is_like_one else name

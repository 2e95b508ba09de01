"""The genes of a session: its configuration and cluster, and the parts of what a client says.

`CLUSTER` and `DOMAINS` are the tables.

Each gene has a value from a list, the simplest first: shrinking goes towards the front.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from types import MappingProxyType
from typing import Any, Final

from tsproxy.wire.apis import APIS

A_FRAME_EACH: Final = 0
"""A size of reads: each read has one frame."""
COUNTS: Final = (1, 2, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000, 20_000)
FEW: Final = (0, 1, 3, 30, 300)
SIZES: Final = (0, 1, 8, 40, 249, 250, 1_000, 8_000, 32_000)
NAMES: Final = ("letters", "dashes", "nearly", "wide", "nul", "broken", "many dots", "commas")
PATTERNS: Final = (
    "*",
    "orders-{n}",
    "*-team{n}-*",
    "*a*b*c*{n}",
    "?*?*?*{n}",
    "[!a]*[!b]*{n}",
    "/.*-.*-.*-eu{n}/",
    "/[a-z-]+{n}/",
)
FIELDS: Final = (
    "topics",
    "client_ids",
    "principals",
    "client_software",
    "addresses",
    "topics and client_ids",
    "topics and principals",
)

CLUSTER: Final[Mapping[str, tuple[Any, ...]]] = {
    "rules": FEW,
    "rule_field": FIELDS,
    "rule_pattern": PATTERNS,
    "waivers": FEW,
    "waiver_field": FIELDS,
    "waiver_pattern": PATTERNS,
    "topics": (2, 0, 30, 300, 3_000),
    "nodes": (1, 3, 100, 1_000),
    "limits_from": ("broker", "config", "stricter"),
    "mode": ("enforce", "audit", "off"),
    "candidate": ("none", "kafka-4", "before"),
    "no_timestamp": ("accept", "reject", "stamp"),
    "on_violation": ("reject", "repair", "stamp"),
    "keep": ("none", "original", "both"),
    "dead_letters": (False, True),
    "extended": (False, True),
    "inspect": ("all", "adaptive", "auto"),
    "custom": ("none", "reads", "bounds", "rejects", "fails"),
    "zero": ("accept", "reject"),
    "negative": ("accept", "reject"),
    "preset": ("none", "kafka-4", "kip-937-draft"),
    "name_unit": (False, True),
    "culprits_listed": (10_000, 1),
    "max_jump_ahead": (False, True),
    "compacted": (False, True),
    "is_brokers_time": (False, True),
    "in_flight": (1_000, 1, 10),
    "throttle": ("1s", "off"),
    "needs_sasl": (False, True),
    "load_balancer": (False, True),
    "tls": (False, True),
    "mapping": ("none", "Kafka's", "cases", "many"),
    "admin_token": (False, True),
    "most_bytes": (24_000, 100_000, 300_000),
}
"""`most_bytes` bounds one part: what a byte costs is seen in a small one, and a large one takes long."""

NOT_DRAWN: Final[Mapping[str, str]] = {
    "upstream.": "the proxy's own side: no peer decides how often it is used",
    "listeners[].tls.": "files and OpenSSL's settings: a handshake with a client's certificate is drawn",
    "listeners[].": "where clients come in, and the names of brokers; `nodes` draws how many there are",
    "policy.clock_tolerance": "is added to the limits when a topic is resolved",
    "policy.help": "a text in each answer",
    "policy.rules[].rule": "drawn as `custom`, since it names an entry point",
    "policy.rules[].": "a rule's own settings are those of the defaults, which are drawn",
    "policy.defaults.message.timestamp.": "a number in a comparison; `before` is drawn",
    "policy.candidate.message.timestamp.": "the same",
    "decisions.": "the files and the topic of the decision log are written beside the event loop",
    "clock.": "the proxy asks brokers, on its own clock",
    "dead_letters.": "how many records wait; `dead_letters` draws that they are copied",
    "limits.": "a number in a comparison: `tests/attacks` walks the edges of each",
    "admin.": "the admin port without TLS is drawn, with and without its token",
    "log.level": "the log of the operators is left out here",
    "workers": "each has an event loop of its own",
}
"""The keys of a configuration that no gene sets, by their beginnings, with the reason: they cost nothing that
a peer decides, or it is measured elsewhere."""

_EACH: Final = {"times": COUNTS, "client": NAMES, "client_size": SIZES, "client_varies": (False, True)}
_WAY: Final = {
    "a_read": (1 << 18, 16_384, 1_460, A_FRAME_EACH),
    "answers_at_once": (False, True),
    "after_ms": (0, 1, 100, 1_001, 5_001),
    "view_changes": (False, True),
    "damage": ((), (0,), (1,), (2, 9), (3, 5, 7)),
}
_ANSWER: Final = {
    "answer_count": COUNTS,
    "answer_size": SIZES,
    "answer_code": (0, 32, 87, 10, 7),
    "answer_nodes": (1, 3, 100),
}

DOMAINS: Final[Mapping[str, Mapping[str, tuple[Any, ...]]]] = {
    "produce": {
        "version": tuple(range(14)),
        "acks": (-1, 1, 0),
        "topics": COUNTS,
        "topic": NAMES,
        "topic_size": SIZES,
        "is_known": (True, False),
        "partitions": COUNTS,
        "records": ("good", "bad", "null", "empty", "both"),
        "magic": (2, 1, 0, 3),
        "codec": ("none", "gzip", "snappy", "lz4", "zstd", "odd"),
        "body": ("records", "shells", "zeros", "noise", "inner", "bomb"),
        "bomb": tuple(range(8)),
        "count": COUNTS,
        "batches": COUNTS,
        "value_size": SIZES,
        "times_vary": (False, True),
        "key": ("short", "null"),
        "header": ("right", "log append", "transactional", "idempotent", "count", "maximum", "crc", "offset"),
        "is_transactional": (False, True),
        **_EACH,
        **_WAY,
        **_ANSWER,
    },
    "ask": {
        "api": (*sorted(APIS), 4, 99),
        "version": tuple(range(19)),
        "fill": ("zeros", "names", "numbers", "tags", "resources"),
        "size": SIZES,
        "resources": COUNTS,
        **_EACH,
        **_WAY,
        **_ANSWER,
    },
    "login": {
        "mechanism": ("PLAIN", "SCRAM-SHA-256", "OAUTHBEARER", "GSSAPI", "OTHER"),
        "version": (1, 0),
        "user": NAMES,
        "user_size": SIZES,
        "token": ("right", "pairs", "nested", "commas", "noise"),
        "token_size": (*SIZES, 200_000),
        **_EACH,
        **_WAY,
    },
    "connect": {
        "from": ("one", "many", "stranger"),
        "others_stay": (False, True),
        "waits": (False, True),
        "header": ("right", "v6", "local", "unix", "short", "version 1", "noise", "none"),
        "header_size": (0, 8, 200, 4_000, 60_000),
        "server_name": ("", "proxy.example", "b." * 100 + "example"),
        "certificate": (True, False),
        "certificates_vary": (False, True),
        "attributes": (1, 3, 10, 30, 100),
        "attribute": ("CN", "OU", "UID", "odd"),
        "text": ("UTF-8", "printable", "universal", "bits"),
        "letters": NAMES,
        "size": SIZES,
        "together": (False, True),
        "times": COUNTS[:7],
    },
    "page": {
        "path": (
            "/livez",
            "/readyz",
            "/readyz?verbose",
            "/metrics",
            "/",
            "/brokers",
            "/config",
            "/decisions/top",
            "/nothing",
            "nothing",
        ),
        "method": ("GET", "HEAD", "POST", "odd"),
        "headers": COUNTS,
        "field": ("x", "host", "accept-language", "authorization", "no colon"),
        "content": ("letters", "bearer", "basic", "colons", "brackets"),
        "size": SIZES,
        "is_whole": (True, False),
        "times": COUNTS[:6],
    },
    "software": {"version": (3, 4, 5), "name": NAMES, "size": SIZES, **_EACH, **_WAY, **_ANSWER},
}


@dataclass(frozen=True, slots=True)
class Genes:
    """The genes of one session. A gene that is left out has the first value of its domain."""

    cluster: Mapping[str, Any]
    parts: tuple[Mapping[str, Any], ...]

    def to_json(self) -> dict[str, Any]:
        return {"cluster": dict(self.cluster), "parts": [dict(part) for part in self.parts]}

    @classmethod
    def of_json(cls, made: Mapping[str, Any]) -> "Genes":
        return frozen(made["cluster"], made["parts"])

    @property
    def identity(self) -> str:
        return json.dumps(self.to_json(), sort_keys=True)


def frozen(cluster: Mapping[str, Any], parts: Any) -> Genes:
    """Genes without those that have their first value."""
    return Genes(
        MappingProxyType(_odd(cluster, CLUSTER)),
        tuple(MappingProxyType({"do": part["do"], **_odd(part, DOMAINS[part["do"]])}) for part in parts),
    )


def value(part: Mapping[str, Any], name: str) -> Any:
    """The value of a gene of a part."""
    return part.get(name, DOMAINS[part["do"]][name][0])


def cluster_value(genes: Mapping[str, Any], name: str) -> Any:
    return genes.get(name, CLUSTER[name][0])


def _odd(genes: Mapping[str, Any], domain: Mapping[str, tuple[Any, ...]]) -> dict[str, Any]:
    made = {name: tuple(it) if isinstance(it, list) else it for name, it in genes.items() if name in domain}
    return {name: made[name] for name in domain if name in made and made[name] != domain[name][0]}


# -- Drawing and changing -----------------------------------------------------------------------------


def drawn(random: Random) -> Genes:
    """A session of one part, with few genes that are not the simplest."""
    do = random.choices(tuple(DOMAINS), (10, 8, 2, 3, 2, 1))[0]
    genes = frozen({}, [{"do": do}])
    for _ in range(random.randrange(2, 9)):
        genes = changed(genes, random)
    return genes


def changed(genes: Genes, random: Random) -> Genes:
    """The genes with one change: a gene of the cluster or of a part, or a part more or less."""
    cluster, parts = dict(genes.cluster), [dict(part) for part in genes.parts]
    kind = random.random()
    if kind < 0.3:
        _change(cluster, CLUSTER, random)
    elif kind < 0.36 and len(parts) < 4:
        parts.insert(random.randrange(len(parts) + 1), dict(random.choice(parts)))
    elif kind < 0.4 and len(parts) < 4:
        parts.append({"do": random.choice(tuple(DOMAINS))})
    elif kind < 0.44 and len(parts) > 1:
        del parts[random.randrange(len(parts))]
    else:
        part = random.choice(parts)
        _change(part, DOMAINS[part["do"]], random)
    return frozen(cluster, parts)


def crossed(one: Genes, other: Genes, random: Random) -> Genes:
    """The configuration of one and the traffic of the other, or each gene from either."""
    if random.random() < 0.5:
        return frozen(one.cluster, other.parts)
    names = [name for name in CLUSTER if name in one.cluster or name in other.cluster]
    cluster = {name: random.choice((one, other)).cluster.get(name, CLUSTER[name][0]) for name in names}
    return frozen(cluster, random.choice((one, other)).parts)


def simpler(genes: Genes) -> list[Genes]:
    """The same with a part less, or with one gene closer to the front of its list."""
    found = []
    cluster, parts = dict(genes.cluster), [dict(part) for part in genes.parts]
    if len(parts) > 1:
        found += [frozen(cluster, parts[:at] + parts[at + 1 :]) for at in range(len(parts))]
    for name in cluster:
        for less in _less(cluster[name], CLUSTER[name]):
            found.append(frozen({**cluster, name: less}, parts))
    for at, part in enumerate(parts):
        for name in [each for each in part if each != "do"]:
            for less in _less(part[name], DOMAINS[part["do"]][name]):
                found.append(frozen(cluster, [*parts[:at], {**part, name: less}, *parts[at + 1 :]]))
    return found


def _less(given: Any, domain: tuple[Any, ...]) -> list[Any]:
    at = domain.index(given)
    return [domain[0]] if at == 1 else [domain[0], domain[at - 1]]


def _change(genes: dict[str, Any], domain: Mapping[str, tuple[Any, ...]], random: Random) -> None:
    name = random.choice(tuple(domain))
    values = domain[name]
    at = values.index(genes.get(name, values[0]))
    if random.random() < 0.5:
        at = max(0, min(len(values) - 1, at + random.choice((-1, 1))))
    else:
        at = random.randrange(len(values))
    genes[name] = values[at]

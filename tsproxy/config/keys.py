"""The table of all configuration keys: what is read, what is checked, and what the docs say.

`docs/configuration.md` carries this table as `python -m tsproxy.config.reference` prints it; a test
compares them. A key is listed here when the feature behind it exists, not before.

A list of sections is written by its path: `listeners[].bind` makes `listeners` a list of sections with
a key `bind` each; sections may lie in them (`listeners[].tls.key`) and be optional (`OPTIONAL`), and the
list itself may be (`OptionalSection("policy.rules[]", …)`).
"""

from typing import Final

from tsproxy.config.decision_keys import DECISION_KEYS
from tsproxy.config.kinds import (
    ADDRESS,
    ADDRESSES_IN_CONFIGS,
    BIND,
    BIND_OR_OFF,
    BROKER_HOST,
    BROKERS_FROM,
    CIDR,
    DURATION,
    DURATION_OR_OFF,
    HOST,
    LOG_LEVEL,
    MECHANISM,
    NAME,
    PATH,
    PROXY_PROTOCOL,
    SECRET,
    SIZE,
    TEXT,
    TOLERANCE,
    TOPIC,
    TOTAL_SIZE,
    URL,
    WHEN_BEYOND,
    YES_OR_NO,
    Key,
    OptionalSection,
    number,
)
from tsproxy.config.policy_keys import POLICY_KEYS, POLICY_OPTIONAL
from tsproxy.config.tls_keys import LISTENER_TLS_KEYS, UPSTREAM_TLS_KEYS

OPTIONAL: Final = (
    OptionalSection(
        "upstream.tls", "Connections to brokers use TLS where this section is present, even as `{}`."
    ),
    OptionalSection(
        "upstream.admin.sasl",
        "How the proxy's own connection authenticates; clients bring what is theirs.",
    ),
    OptionalSection(
        "decisions.topic", "The decision log goes to a Kafka topic as well where this section is present."
    ),
    OptionalSection(
        "dead_letters",
        "Copies of rejected records go to a Kafka topic where this section is present, of the rules that say "
        "`dead_letters: yes`.",
        is_live=True,
    ),
    OptionalSection(
        "clock.probe",
        "The proxy's clock is compared with the brokers' where this section is present.",
        is_live=True,
    ),
    OptionalSection("listeners[].tls", "Clients of this listener use TLS where this section is present."),
    OptionalSection(
        "listeners[].proxy_protocol",
        "Every connection begins with a PROXY protocol header where this section is present: a load balancer "
        "names the client in it.",
        is_live=True,
        example="{ version: v2, from: [10.0.0.0/8] } with the load balancer's addresses",
    ),
    *POLICY_OPTIONAL,
)
"""Sections that mean something by being there, and lists that may be empty."""

KEYS: Final = (
    Key(
        "upstream.bootstrap_servers",
        ADDRESS,
        "The brokers to begin with; the others are discovered.",
        is_required=True,
        is_list=True,
        is_live=True,
    ),
    *UPSTREAM_TLS_KEYS,
    Key(
        "upstream.brokers_from",
        BROKERS_FROM,
        "How brokers are found: the proxy asks on a connection of its own, or learns them from answers to "
        "`clients`. The latter tells no topic's limits, so it needs `policy.limits_from: config`.",
        default="own_connection",
    ),
    Key(
        "upstream.clients_use_sasl",
        YES_OR_NO,
        "Whether the brokers' listener takes SASL. To be said with `brokers_from: clients` alone; else the "
        "proxy's own connection uses SASL or does not.",
    ),
    Key(
        "upstream.bearer_claim",
        TEXT,
        "The claim of OAUTHBEARER tokens that brokers make the principal of: their "
        "`sasl.oauthbearer.sub.claim.name`. Holds for connections made from then on.",
        default="sub",
        is_live=True,
    ),
    Key(
        "upstream.admin.refresh",
        DURATION,
        "How often brokers and the limits of all topics in use are read again.",
        default="30s",
        is_live=True,
    ),
    Key(
        "upstream.admin.sasl.mechanism",
        MECHANISM,
        "SASL mechanism of the proxy's own connection.",
        is_required=True,
        is_live=True,
    ),
    Key("upstream.admin.sasl.username", TEXT, "User name, for PLAIN and SCRAM.", is_live=True),
    Key(
        "upstream.admin.sasl.password",
        SECRET,
        "Password, for PLAIN and SCRAM; better from `${VARIABLE}` than in the file.",
        is_live=True,
    ),
    Key(
        "upstream.admin.sasl.token_file",
        PATH,
        "OAUTHBEARER: a file with the token. It is read at every login.",
        is_live=True,
    ),
    Key(
        "upstream.admin.sasl.token_endpoint",
        URL,
        "OAUTHBEARER: where the issuer gives tokens to clients (grant type `client_credentials`).",
        is_live=True,
    ),
    Key("upstream.admin.sasl.client_id", TEXT, "The proxy's client id at the issuer.", is_live=True),
    Key("upstream.admin.sasl.client_secret", SECRET, "Its secret.", is_live=True),
    Key("upstream.admin.sasl.scope", TEXT, "The scope to ask for, where the issuer wants one.", is_live=True),
    Key(
        "upstream.admin.sasl.token_endpoint_ca",
        PATH,
        "PEM file of the authorities that the issuer is checked against; without it the system's.",
        is_live=True,
    ),
    Key("upstream.admin.sasl.region", TEXT, "AWS_MSK_IAM: the cluster's region.", is_live=True),
    Key(
        "upstream.admin.sasl.profile",
        TEXT,
        "AWS_MSK_IAM: a profile of AWS's configuration; without it the default credentials.",
        is_live=True,
    ),
    Key("upstream.admin.sasl.role_arn", TEXT, "AWS_MSK_IAM: a role to assume.", is_live=True),
    Key(
        "upstream.admin.sasl.service_name",
        NAME,
        "GSSAPI: the service part of the brokers' principals; without it `kafka`.",
        is_live=True,
    ),
    Key(
        "listeners[].name", NAME, "Names the listener in metrics and in the decision log.", default="default"
    ),
    Key("listeners[].bind", BIND, "Where clients bootstrap. Port 0 takes any free port.", is_required=True),
    Key(
        "listeners[].advertised_host",
        HOST,
        "The host that clients are told for every broker; without it the host of `bind`.",
        is_live=True,
    ),
    Key(
        "listeners[].brokers.ports_from",
        number(0, 65535),
        "Broker n is served on this port + n, less `first_id`; without it the port after `bind`. 0 takes any "
        "free ports.",
    ),
    Key(
        "listeners[].brokers.host",
        BROKER_HOST,
        "Instead of ports: broker n is served at `bind` under this host name, told apart by the TLS "
        "handshake. Needs `tls`.",
    ),
    Key(
        "listeners[].brokers.count",
        number(1, 65535),
        "So many node ids can be served, from first_id on; each takes a port.",
        default="200",
    ),
    Key(
        "listeners[].brokers.first_id",
        number(0, 2**31 - 1),
        "The lowest node id: broker n is served on ports_from + n - first_id. 1001 where a cluster of "
        "ZooKeeper's time counts from there.",
        default="0",
    ),
    *LISTENER_TLS_KEYS,
    Key(
        "listeners[].proxy_protocol.version",
        PROXY_PROTOCOL,
        "The version of that header.",
        default="v2",
        is_live=True,
    ),
    Key(
        "listeners[].proxy_protocol.from",
        CIDR,
        "The load balancer's addresses. A connection from elsewhere is closed: it could name anybody.",
        is_required=True,
        is_list=True,
        is_live=True,
    ),
    Key(
        "listeners[].addresses_in_configs",
        ADDRESSES_IN_CONFIGS,
        "What DescribeConfigs tells of brokers' own addresses (`advertised.listeners` and the like): `mask` "
        "leaves the values out, `pass` lets administrators see them.",
        default="mask",
        is_live=True,
    ),
    *POLICY_KEYS,
    *DECISION_KEYS,
    Key(
        "clock.max_offset",
        DURATION,
        "How far the proxy's clock may be from the brokers'.",
        default="1s",
        is_live=True,
    ),
    Key(
        "clock.when_beyond",
        WHEN_BEYOND,
        "What is done while it is further: `warn` only says so, `audit` enforces nothing until it is back. "
        "Without `clock.probe` it goes by times that brokers write anyway, to a few seconds.",
        default="warn",
        is_live=True,
    ),
    Key(
        "clock.probe.topic",
        TOPIC,
        "A topic with `message.timestamp.type=LogAppendTime`, to which the proxy writes empty records; "
        "it must be there.",
        is_required=True,
        is_live=True,
    ),
    Key("clock.probe.every", DURATION, "How often.", default="30s", is_live=True),
    Key("dead_letters.topic", TOPIC, "The topic; it must be there.", is_required=True, is_live=True),
    Key(
        "dead_letters.max_in_flight",
        TOTAL_SIZE,
        "Bytes of rejected batches, as they came, that may wait to be copied; of more no copies are made.",
        default="64MiB",
        is_live=True,
    ),
    Key(
        "dead_letters.max_records",
        number(1, 10_000_000),
        "The same in records.",
        default="100000",
        is_live=True,
    ),
    Key(
        "limits.produce_frame",
        SIZE,
        "Largest Produce request; brokers' `socket.request.max.bytes` is as much.",
        default="100MiB",
        is_live=True,
    ),
    Key("limits.other_frame", SIZE, "Largest request of any other kind.", default="8MiB", is_live=True),
    Key(
        "limits.share_answer",
        SIZE,
        "Largest answer of ShareFetch and ShareAcknowledge, which are held whole.",
        default="100MiB",
        is_live=True,
    ),
    Key(
        "limits.in_flight_requests",
        number(1, 1_000_000),
        "Requests of one connection that wait for an answer.",
        default="1000",
        is_live=True,
    ),
    Key(
        "limits.decompressed_batch",
        SIZE,
        "Largest batch after decompression.",
        default="256MiB",
        is_live=True,
    ),
    Key(
        "limits.records_per_batch",
        number(1, 100_000_000),
        "Most records in one batch.",
        default="1000000",
        is_live=True,
    ),
    Key(
        "limits.decompressed_request",
        TOTAL_SIZE,
        "Largest Produce request after decompression, all its batches together; batches beyond it are "
        "rejected unread where times are limited.",
        default="4GiB",
        is_live=True,
    ),
    Key(
        "limits.records_per_request",
        number(1, 1_000_000_000),
        "Most records in one Produce request; batches beyond it are rejected unread likewise.",
        default="20000000",
        is_live=True,
    ),
    Key(
        "limits.culprits_listed",
        number(1, 1_000_000),
        "Most records named in one answer as rejected; all are counted.",
        default="10000",
        is_live=True,
    ),
    Key("limits.zstd_window", SIZE, "Largest window a zstd frame may ask for.", default="8MiB", is_live=True),
    Key(
        "limits.connections",
        number(1, 1_000_000),
        "Clients that may be connected at a time; each takes two file descriptors. Without it 10,000, or as "
        "many as the system's limit of open files allows.",
        is_live=True,
    ),
    Key(
        "limits.connections_per_address",
        number(1, 1_000_000),
        "The same for one address; IPv6 addresses of one /64 count as one.",
        default="1000",
        is_live=True,
    ),
    Key(
        "limits.buffered",
        TOTAL_SIZE,
        "Bytes that are held for all connections together; over it the one that holds most is closed.",
        default="1GiB",
        is_live=True,
    ),
    Key(
        "limits.stalled_frame",
        DURATION,
        "How long the end of a request may take once it has begun, plus 1 s for each MiB that it announces.",
        default="30s",
        is_live=True,
    ),
    Key(
        "limits.idle",
        DURATION,
        "A connection is closed when nothing came from either end for so long and no answer is owed. More "
        "than the brokers' own `connections.max.idle.ms` (10 minutes).",
        default="12m",
        is_live=True,
    ),
    Key("limits.handshake", DURATION, "How long a TLS handshake may take.", default="10s", is_live=True),
    Key(
        "limits.throttle",
        DURATION_OR_OFF,
        "A client of which more than 1,000 batches a second are rejected here, or more than 64 MB, is kept "
        "waiting, at most so long at a time (KIP-219's `throttle_time_ms`). `off`: nobody is.",
        default="1s",
        is_live=True,
    ),
    Key(
        "limits.drain_delay",
        TOLERANCE,
        "How long SIGTERM leaves the ports open while `/readyz` already returns 503: time for a load "
        "balancer or Kubernetes to send clients elsewhere.",
        default="0s",
        is_live=True,
    ),
    Key(
        "limits.drain_timeout",
        DURATION,
        "How long SIGTERM waits for requests that brokers are still answering.",
        default="30s",
        is_live=True,
    ),
    Key(
        "admin.bind",
        BIND_OR_OFF,
        "Where a page for people (`/`), `/metrics`, `/livez`, `/readyz`, `/config`, `/brokers` and "
        "`/decisions/top` are served, to everybody who reaches it.",
        default="127.0.0.1:9464",
    ),
    Key(
        "admin.hosts",
        HOST,
        "Names by which a browser may ask for them, beside addresses, `localhost` and the host of "
        "`admin.bind`; scrapes and probes may ask by any.",
        is_list=True,
        is_live=True,
    ),
    Key(
        "log.level",
        LOG_LEVEL,
        "The least that the operators' log tells; `debug` adds two lines for each connection.",
        default="info",
        is_live=True,
    ),
    Key(
        "workers",
        number(1, 256),
        "Processes that share the listening ports; more than 1 adds a supervisor over them.",
        default="1",
    ),
)

"""The names that other programs give to a key: `names_here`.

They are those of Envoy, HAProxy, kafka-proxy and Kroxylicious, of Kafka's brokers and Java clients, and of
librdkafka, so that an error about an unknown key or option can name the one that was meant.
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

SYNONYMS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "bind": "addr address bind_address host_port listen listen_address listener port socket_address",
        "bootstrap_servers": "backends bootstrap bootstrap_server broker broker_list brokers endpoints hosts "
        "kafka metadata_broker_list seed_brokers server servers target_cluster",
        "advertised_host": "advertised_broker_address_pattern external_host node_address_pattern",
        "ports_from": "dynamic_sequential_min_port node_start_port port start_port",
        "tls": "ssl transport_socket",
        "ca": "ca_cert ca_chain_cert_file ca_file cafile ssl_ca_location ssl_truststore_location truststore",
        "client_ca": "ca ca_cert ca_file cafile ssl_truststore_location trusted_ca truststore",
        "client_auth": "require_client_certificate verify",
        "certificate": "cert crt keystore ssl_keystore_location",
        "key": "key_file private_key ssl_key_location",
        "proxy_protocol": "accept_proxy",
        "token_endpoint": "sasl_oauthbearer_token_endpoint_url token_url",
        "mode": "action dry_run enforcement",
        "message.timestamp.before.max.ms": "before max_age oldest",
        "message.timestamp.after.max.ms": "after max_future newest",
        "principals": "user username users",
        "addresses": "cidrs ips networks sources",
        "until": "end expires expiry",
        "directory": "dir folder path",
        "connections": "maxconn",
        "produce_frame": "max_request_size message_max_bytes socket_request_max_bytes",
        "idle": "connections_max_idle_ms idle_timeout timeout_client",
        "drain_timeout": "grace_period",
        "workers": "concurrency nbproc nbthread processes threads",
    }
)
"""A key's last name -> other names for it. A name may stand in several rows."""


def names_here(name: str) -> frozenset[str]:
    """The last names of keys that `name` may mean, in whatever way it is written: `bootstrapServers`,
    `bootstrap-servers`, `log.message.timestamp.before.max.ms`."""
    plain = re.sub(r"(?<=[a-z])(?=[A-Z])|[.-]", "_", name).lower()
    called = {here for here, others in SYNONYMS.items() if plain in others.split()}
    return frozenset({name, plain, name.removeprefix("log."), *called})

"""The configuration and the cluster of genes: `view_of`. The configuration is the text of a file."""

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final

import yaml

from rigs.cost.custom import with_rule
from rigs.cost.genes import cluster_value
from rigs.cost.greetings import LOAD_BALANCER, files
from rigs.cost.names import topic_names
from tests.session.conversation import DAY_MS, HOUR_MS, id_of
from tsproxy.config import load
from tsproxy.config.document import parse_yaml
from tsproxy.config.settings import Config
from tsproxy.model.kafka import TimestampType
from tsproxy.model.verdict import TopicLimits
from tsproxy.model.view import Endpoint, View
from tsproxy.proxy.custom_rules import CustomRuleWatch

TOKEN: Final = "a-token-of-the-admin-port"

_MAPPINGS: Final = {
    "none": ["DEFAULT"],
    "Kafka's": ["RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/L", "DEFAULT"],
    "cases": [r"RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/", r"RULE:^CN=(.*?), *OU=(.*?),.*$/$1@$2/U", "DEFAULT"],
    "many": [*(f"RULE:^CN=(.*?),OU=Team{n},.*$/$1@team{n}/L" for n in range(100)), "DEFAULT"],
}
"""The rules of Kafka's documentation, and many of that kind. Who writes a costly pattern is the operator."""


def view_of(genes: Mapping[str, Any]) -> tuple[Config, View]:
    return _view_of(tuple(sorted(genes.items())))


@lru_cache(maxsize=200)
def _view_of(items: tuple[tuple[str, Any], ...]) -> tuple[Config, View]:
    genes = dict(items)
    config = load(parse_yaml(text_of(genes), "tsproxy.yaml"), {})
    config = replace(config, policy=with_rule(config.policy, cluster_value(genes, "custom")))
    topics = topic_names(genes)
    limits = _limits(genes)
    nodes = range(1, 1 + cluster_value(genes, "nodes"))
    view = View(
        endpoints=MappingProxyType({node: Endpoint("proxy.example", 9_192 + node) for node in nodes}),
        brokers=MappingProxyType({node: Endpoint("broker", 9_092) for node in nodes}),
        topics=MappingProxyType(dict.fromkeys(topics, limits)),
        topic_names=MappingProxyType({id_of(topic): topic for topic in topics}),
        limits=config.session_limits,
        policy=CustomRuleWatch(config).timed(config.policy),
        broker_needs_sasl=cluster_value(genes, "needs_sasl"),
    )
    return config, view


def _limits(genes: Mapping[str, Any]) -> TopicLimits:
    is_brokers_time = cluster_value(genes, "is_brokers_time")
    kind = TimestampType.LOG_APPEND_TIME if is_brokers_time else TimestampType.CREATE_TIME
    return TopicLimits(kind, DAY_MS, HOUR_MS, is_compacted=cluster_value(genes, "compacted"))


def text_of(genes: Mapping[str, Any]) -> str:
    """The file of these genes."""

    def has(name: str) -> Any:
        return cluster_value(genes, name)

    defaults = {
        "no_timestamp": has("no_timestamp"),
        "on_violation": has("on_violation"),
        "extended_timestamps": has("extended"),
        "dead_letters": has("dead_letters"),
        "keep_original_time": has("keep") == "original" and has("on_violation") != "reject",
        "keep_both_times": has("keep") == "both",
        "inspect": {"compressed": has("inspect")},
        "zero": has("zero"),
        "negative": has("negative"),
    }
    policy: dict[str, Any] = {"mode": has("mode"), "limits_from": has("limits_from"), "defaults": defaults}
    policy["name_unit"] = has("name_unit")
    if has("limits_from") != "broker":
        defaults["message.timestamp.before.max.ms"] = "1d"
    candidates = {"kafka-4": {"preset": "kafka-4"}, "before": {"message.timestamp.before.max.ms": "1h"}}
    policy["candidate"] = candidates.get(has("candidate"), {"preset": "none"})
    limits = {"preset": has("preset")}
    if has("preset") == "none":
        limits = {"message.timestamp.after.max.ms": "2h"}
    policy["rules"] = [
        {
            "name": f"r{n}",
            "match": _match(has("rule_field"), has("rule_pattern"), n),
            **limits,
            **({"max_jump_ahead": "10m"} if has("max_jump_ahead") else {}),
        }
        for n in range(has("rules"))
    ]
    if has("max_jump_ahead"):
        policy["rules"].append({"name": "jump", "max_jump_ahead": "10m"})
    policy["waivers"] = [
        {
            "name": f"w{n}",
            "match": _match(has("waiver_field"), has("waiver_pattern"), n),
            "until": "2099-01-01T00:00:00Z",
            "owner": "owner",
            "reason": "reason",
        }
        for n in range(has("waivers"))
    ]
    listener: dict[str, Any] = {"bind": "127.0.0.1:0"}
    if has("load_balancer"):
        listener["proxy_protocol"] = {"from": [LOAD_BALANCER]}
    if has("tls"):
        made = files()
        listener["tls"] = {
            "certificate": str(made.proxy.certificate),
            "key": str(made.proxy.key),
            "client_ca": str(made.authority.certificate),
            "client_auth": "requested",
            "principal_mapping": _MAPPINGS[has("mapping")],
        }
    document = {
        "upstream": {"bootstrap_servers": ["kafka:9092"]},
        "listeners": [listener],
        "limits": {
            "in_flight_requests": has("in_flight"),
            "throttle": has("throttle"),
            "culprits_listed": has("culprits_listed"),
        },
        "policy": policy,
    }
    if has("admin_token"):
        document["admin"] = {"token": TOKEN}
    if has("dead_letters"):
        document["dead_letters"] = {"topic": "dead"}
    return yaml.safe_dump(document)


def _match(fields: str, pattern: str, number: int) -> dict[str, list[str]]:
    """The rule's field or fields. No rule of these fits what clients send, unless the pattern is `*`."""
    match = {}
    for field in fields.split(" and "):
        text = pattern.format(n=number) if "{n}" in pattern else (f"*{number}z" if number else pattern)
        if field == "addresses":
            text = f"10.{number // 250}.{number % 250}.0/24"
        elif field == "principals" and not text.startswith(("/", "*", "?", "[")):
            text = f"User:{text}"
        match[field] = [text]
    return match

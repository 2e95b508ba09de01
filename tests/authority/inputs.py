"""`INPUTS`: all that decides about a batch. `docs/evidence/threat-model.md` says what each may change."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from tests.authority import attempts
from tests.authority.attempts import Attempt


class Who(StrEnum):
    OPERATOR = "operator"
    BROKER = "broker"
    NETWORK = "network"
    CLIENT = "client"


@dataclass(frozen=True)
class Input:
    """`fields` are the fields of the core through which the input arrives. `attempt` is what a client does
    with an input that it controls. With `needs_setting` the input changes nothing without a setting."""

    name: str
    who: Who
    fields: tuple[str, ...] = ()
    attempt: Callable[..., Attempt] | None = None
    needs_setting: bool = False


INPUTS = (
    Input(
        "the configuration file: modes, limits, rules, waivers, custom rules, `limits`",
        Who.OPERATOR,
        (
            *("View.policy", "View.limits", "View.bearer_claim", "View.masks_addresses"),
            *("Policy.mode", "Policy.limits_from", "Policy.clock_tolerance_ms", "Policy.defaults"),
            *("Policy.candidate", "Policy.rules", "Policy.waivers", "Policy.names_unit", "Policy.help"),
            *("Match.topics", "Match.client_ids", "Match.principals", "Match.addresses"),
            *("Match.client_software", "Peer.listener"),
        ),
    ),
    Input(
        "`clock.probe`: a broker's time for the proxy's own record",
        Who.BROKER,
        ("Policy.is_suspended",),
    ),
    Input(
        "a topic's own configuration, and the broker's defaults",
        Who.BROKER,
        ("View.topics", "View.topics_on_kafka_4", "View.reads_limits", "View.unreadable_topics"),
    ),
    Input(
        "the names of topic ids, what the proxy's user may describe, and the versions of Produce",
        Who.BROKER,
        ("View.topic_names", "View.may_describe", "View.produce_versions"),
    ),
    Input(
        "the answer to a login",
        Who.BROKER,
        ("View.broker_needs_sasl", "Peer.principal"),
    ),
    Input(
        "the answer to Produce",
        Who.BROKER,
    ),
    Input(
        "the brokers' addresses",
        Who.BROKER,
        ("View.endpoints", "View.unserved", "View.brokers"),
    ),
    Input(
        "the client's address, or the PROXY header of a trusted load balancer",
        Who.NETWORK,
        ("Peer.client_address", "Peer.client_port"),
    ),
    Input(
        "this machine's clock and its time service",
        Who.NETWORK,
        ("RequestContext.now_ms",),
    ),
    Input(
        "the client id",
        Who.CLIENT,
        ("Peer.client_id", "RequestContext.peer"),
        attempts.client_ids,
        needs_setting=True,
    ),
    Input(
        "the client's library (ApiVersions)",
        Who.CLIENT,
        ("Peer.client_software",),
        attempts.software,
        needs_setting=True,
    ),
    Input(
        "a principal that it claims, until the broker accepts it",
        Who.CLIENT,
        (),
        attempts.principals,
    ),
    Input(
        "the timestamps of its records, and what a batch says of itself",
        Who.CLIENT,
        (),
        attempts.batches,
    ),
    Input(
        "many batches in order",
        Who.CLIENT,
        (),
        attempts.good_batches,
        needs_setting=True,
    ),
    Input(
        "names of topics",
        Who.CLIENT,
        (),
        attempts.topic_names,
    ),
    Input(
        "ids of topics",
        Who.CLIENT,
        ("View.denied_ids",),
        attempts.topic_ids,
    ),
    Input(
        "topics that only brokers write",
        Who.CLIENT,
        (),
        attempts.topics_of_brokers,
    ),
    Input(
        "tagged fields that nobody knows",
        Who.CLIENT,
        (),
        attempts.tags,
    ),
    Input(
        "version, acks and transactional id",
        Who.CLIENT,
        ("RequestContext.api_version", "RequestContext.acks", "RequestContext.has_transactional_id"),
        attempts.versions,
    ),
    Input(
        "order, size and pieces of its requests",
        Who.CLIENT,
        (),
        attempts.sizes,
    ),
    Input(
        "bad batches",
        Who.CLIENT,
        (),
        attempts.bad_batches,
    ),
    Input(
        "connects, disconnects and bytes that are no request",
        Who.CLIENT,
        (),
        attempts.connections,
    ),
)

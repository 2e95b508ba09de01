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


def tried(name: str, attempt: Callable[..., Attempt], *fields: str, needs_setting: bool = False) -> Input:
    """An input of the client's."""
    return Input(name, Who.CLIENT, fields, attempt, needs_setting)


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
    Input("`clock.probe`: a broker's time for the proxy's own record", Who.BROKER, ("Policy.is_suspended",)),
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
    Input("the answer to a login", Who.BROKER, ("View.broker_needs_sasl", "Peer.principal")),
    Input("the answer to Produce", Who.BROKER),
    Input("the brokers' addresses", Who.BROKER, ("View.endpoints", "View.unserved", "View.brokers")),
    Input(
        "the client's address, or the PROXY header of a trusted load balancer",
        Who.NETWORK,
        ("Peer.client_address", "Peer.client_port"),
    ),
    Input("this machine's clock and its time service", Who.NETWORK, ("RequestContext.now_ms",)),
    tried("the client id", attempts.client_ids, "Peer.client_id", "RequestContext.peer", needs_setting=True),
    tried(
        "the client's library (ApiVersions)", attempts.software, "Peer.client_software", needs_setting=True
    ),
    tried("a principal that it claims, until the broker accepts it", attempts.principals),
    tried("the timestamps of its records, and what a batch says of itself", attempts.batches),
    tried("many batches in order", attempts.good_batches, needs_setting=True),
    tried("names of topics", attempts.topic_names),
    tried("ids of topics", attempts.topic_ids, "View.denied_ids"),
    tried("topics that only brokers write", attempts.topics_of_brokers),
    tried("tagged fields that nobody knows", attempts.tags),
    tried(
        "version, acks and transactional id",
        attempts.versions,
        *("RequestContext.api_version", "RequestContext.acks", "RequestContext.has_transactional_id"),
    ),
    tried("order, size and pieces of its requests", attempts.sizes),
    tried("bad batches", attempts.bad_batches),
    tried("connects, disconnects and bytes that are no request", attempts.connections),
)

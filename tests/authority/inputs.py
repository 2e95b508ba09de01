"""`INPUTS`: all that decides about a batch. `docs/evidence/threat-model.md` has this table."""

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
    with an input that it controls. `only_with` is the setting without which the input changes nothing."""

    name: str
    who: Who
    may_change: str
    fields: tuple[str, ...] = ()
    attempt: Callable[..., Attempt] | None = None
    only_with: str | None = None


NOTHING = "nothing"

INPUTS = (
    Input(
        "the configuration file: modes, limits, rules, waivers, custom rules, `limits`",
        Who.OPERATOR,
        "everything about judging: whether, by which limits, for whom, and how much work a batch may cost",
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
        "with `clock.when_beyond: audit` whether anything is enforced",
        ("Policy.is_suspended",),
    ),
    Input(
        "a topic's own configuration, and the broker's defaults",
        Who.BROKER,
        "the topic's limits, with `limits_from: broker` or `stricter`. The brokers' ACLs say "
        "who may alter a topic",
        ("View.topics", "View.topics_on_kafka_4", "View.reads_limits", "View.unreadable_topics"),
    ),
    Input(
        "the names of topic ids, what the proxy's user may describe, and the versions of Produce",
        Who.BROKER,
        "which topic a request means, and which versions are judged at all. Others are not forwarded",
        ("View.topic_names", "View.may_describe", "View.produce_versions"),
    ),
    Input(
        "the answer to a login",
        Who.BROKER,
        "the principal, and so which rules match. Nothing is judged before it",
        ("View.broker_needs_sasl", "Peer.principal"),
    ),
    Input(
        "the answer to Produce",
        Who.BROKER,
        "what is booked: `accepted`, `broker_rejected` or `unconfirmed`",
    ),
    Input(
        "the brokers' addresses",
        Who.BROKER,
        "nothing about a batch",
        ("View.endpoints", "View.unserved", "View.brokers"),
    ),
    Input(
        "the client's address, or the PROXY header of a trusted load balancer",
        Who.NETWORK,
        "which rules by address match, and with whom limits, throttle and judges' turns are shared",
        ("Peer.client_address", "Peer.client_port"),
    ),
    Input(
        "this machine's clock and its time service",
        Who.NETWORK,
        "the time by which every batch is judged",
        ("RequestContext.now_ms",),
    ),
    Input(
        "the client id",
        Who.CLIENT,
        "which of the rules by client id match its own batches",
        ("Peer.client_id", "RequestContext.peer"),
        attempts.client_ids,
        only_with="a rule or waiver with `client_ids`: the operator then believes a claim",
    ),
    Input(
        "the client's library (ApiVersions)",
        Who.CLIENT,
        "which of the rules by library match its own batches",
        ("Peer.client_software",),
        attempts.software,
        only_with="a rule or waiver with `client_software`: the operator then believes a claim",
    ),
    Input(
        "a principal that it claims, until the broker accepts it",
        Who.CLIENT,
        NOTHING,
        (),
        attempts.principals,
    ),
    Input(
        "the timestamps of its records, and what a batch says of itself",
        Who.CLIENT,
        "the verdict on that batch",
        (),
        attempts.batches,
    ),
    Input(
        "many batches in order",
        Who.CLIENT,
        "that most of its own compressed batches stay unread, until one that is read is bad",
        (),
        attempts.good_batches,
        only_with="`inspect.compressed: adaptive`; with `auto`, the default, the broker rejects what stays "
        "unread",
    ),
    Input(
        "names of topics",
        Who.CLIENT,
        "which topic's rules and limits its batch gets. A name that no topic has gets rules, and the broker "
        "rejects it",
        (),
        attempts.topic_names,
    ),
    Input(
        "ids of topics",
        Who.CLIENT,
        "the same. A topic without a name is answered with 100. After an id that the proxy may not describe, "
        "clients at its own address are offered Produce 12",
        ("View.denied_ids",),
        attempts.topic_ids,
    ),
    Input(
        "topics that only brokers write",
        Who.CLIENT,
        NOTHING,
        (),
        attempts.topics_of_brokers,
    ),
    Input(
        "tagged fields that nobody knows",
        Who.CLIENT,
        NOTHING,
        (),
        attempts.tags,
    ),
    Input(
        "version, acks and transactional id",
        Who.CLIENT,
        "the form of its own answer, and the checks that a broker makes by them",
        ("RequestContext.api_version", "RequestContext.acks", "RequestContext.has_transactional_id"),
        attempts.versions,
    ),
    Input(
        "order, size and pieces of its requests",
        Who.CLIENT,
        "whether a thread judges its request, and when. Beyond `limits` its batch is rejected",
        (),
        attempts.sizes,
    ),
    Input(
        "bad batches",
        Who.CLIENT,
        "throttling and full inspection for clients at its own address, and which rejections are repeated "
        "natively on its own connection",
        (),
        attempts.bad_batches,
    ),
    Input(
        "connects, disconnects and bytes that are no request",
        Who.CLIENT,
        "nothing about a batch. Its batches that nobody answered are booked `unconfirmed`",
        (),
        attempts.connections,
    ),
)


def as_table() -> str:
    """The table for the page."""
    rows = [
        "| input | controlled by | what it may change | only with | tried |",
        "| --- | --- | --- | --- | --- |",
    ]
    for each in INPUTS:
        tried = f"`{each.attempt.__name__}`" if each.attempt else ""
        rows.append(f"| {each.name} | {each.who} | {each.may_change} | {each.only_with or ''} | {tried} |")
    return "\n".join(rows)

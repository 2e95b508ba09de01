"""Notices about a valid configuration: parts of it that have no effect, or no longer, or a risk.

None of them keeps a proxy from starting: a rule in audit for one night may keep its repair settings. But
nobody should believe that they hold.
"""

import re
from collections.abc import Iterator
from typing import Final

from tsproxy.config.nameless import passed_by_nobody
from tsproxy.config.parsed import Parsed
from tsproxy.config.patterns import meant_as_regex
from tsproxy.config.problems import Problem
from tsproxy.config.settings import BrokerPorts, Config, Listener, SaslMechanism, Secret, Upstream
from tsproxy.config.settings.policy import AFTER, BEFORE, DIFFERENCE
from tsproxy.config.values import instant_text
from tsproxy.model.policy import Choice, LimitsFrom, Match, Mode, OnViolation, Policy, Rule, RuleSettings
from tsproxy.policy.claimed import allowances, claims_of
from tsproxy.policy.resolve import is_internal

_ONLY_ENFORCED: Final = (
    "on_violation",
    "no_timestamp",
    "extended_timestamps",
    "keep_original_time",
    "keep_both_times",
    "dead_letters",
)
"""Keys of a rule that may change or copy a batch. Only a rule that enforces does so."""
_SHELL_VARIABLE: Final = re.compile(r"\$[A-Z_][A-Z0-9_]*|%[A-Z_][A-Z0-9_]*%")
_CHANGE_NOTHING: Final = frozenset({None, False, OnViolation.REJECT, Choice.ACCEPT, Choice.REJECT})


def notices(config: Config, now_ms: int) -> tuple[Problem, ...]:
    """Each names its place and what to do about it. `now_ms` shows which waivers have ended."""
    section, policy = config.parsed["policy"], config.policy
    found = [*_of_defaults(section["defaults"], policy), *_deprecated(section["candidate"])]
    allowed = {rule.name: what for rule, what in allowances(policy)}
    first: dict[Match, Rule] = {}
    for parsed, rule in zip(section["rules"], policy.rules, strict=True):
        found += _of_rule(parsed, rule, policy.defaults)
        found += _never_reached(parsed, rule, first)
        if rule.name in allowed:
            found.append(_claimed(parsed, rule.match, f"allows {allowed[rule.name]}"))
        found += _not_globs(parsed, rule.match)
        first.setdefault(rule.match, rule)
    found += passed_by_nobody(section["rules"], policy)
    for parsed, waiver in zip(section["waivers"], policy.waivers, strict=True):
        found += _not_globs(parsed, waiver.match)
        if waiver.until_ms <= now_ms:
            text = f"was {instant_text(waiver.until_ms)}: it is inert; take it out, or give it a later end"
            found.append(Problem(parsed.place, f"{parsed.path}.until", text))
        elif claims_of(waiver.match):
            found.append(_claimed(parsed, waiver.match, "lets everything pass"))
    found += _of_upstream(config.parsed["upstream"])
    found += _of_variables(config.parsed["upstream"])
    for parsed, listener in zip(config.parsed["listeners"], config.listeners, strict=True):
        found += _of_listener(parsed)
        found += _few_ports(parsed["brokers"], listener, config.upstream)
    return tuple(found)


def _of_upstream(parsed: Parsed) -> Iterator[Problem]:
    sasl: Parsed | None = parsed["admin"]["sasl"]
    if sasl and sasl["mechanism"] is SaslMechanism.PLAIN and parsed["tls"] is None:
        text = "sends the password as it is, readable on the way: add upstream.tls, or say SCRAM-SHA-512"
        yield Problem(sasl.place, f"{sasl.path}.mechanism", text)


def _of_variables(parsed: Parsed) -> Iterator[Problem]:
    """`$NAME`, a shell's form of a variable, is not replaced. The text is a password: it is not shown."""
    sasl: Parsed | None = parsed["admin"]["sasl"]
    password: Secret | None = sasl["password"] if sasl else None
    if sasl and password and _SHELL_VARIABLE.fullmatch(password.reveal()):
        text = "looks like a variable of a shell, and is taken as it is: only ${NAME} is replaced"
        yield Problem(sasl.place, f"{sasl.path}.password", text)


def _of_listener(parsed: Parsed) -> Iterator[Problem]:
    proxy_protocol: Parsed | None = parsed["proxy_protocol"]
    if proxy_protocol and any(not network.prefixlen for network in proxy_protocol["from"]):
        text = "takes every client's word for its address: name the load balancer's addresses alone"
        yield Problem(proxy_protocol.place, f"{proxy_protocol.path}.from", text)


def _few_ports(parsed: Parsed, listener: Listener, upstream: Upstream) -> Iterator[Problem]:
    """Certain without asking the cluster: there are at least as many node ids as bootstrap servers."""
    given, brokers = len(set(upstream.bootstrap_servers)), listener.brokers
    if isinstance(brokers, BrokerPorts) and given > brokers.count:
        yield Problem(
            parsed.place,
            f"{parsed.path}.count",
            f"is {brokers.count}, and upstream.bootstrap_servers names {given}: one has no port, and clients "
            "that are sent to it are disconnected; give a larger count",
        )


def _of_defaults(parsed: Parsed, policy: Policy) -> Iterator[Problem]:
    yield from _deprecated(parsed)
    if policy.limits_from is LimitsFrom.BROKER:
        for name in (BEFORE, AFTER, DIFFERENCE):
            if parsed[name] is not None:
                text = "is not used: limits_from is broker, each topic's own; say limits_from: stricter"
                yield Problem(parsed.place, f"{parsed.path}.{name}", text)
    yield from _nothing_to_keep(parsed, policy.defaults, policy.defaults)


def _of_rule(parsed: Parsed, rule: Rule, defaults: RuleSettings) -> Iterator[Problem]:
    yield from _deprecated(parsed)
    mode = rule.settings.mode
    if mode not in (Mode.AUDIT, Mode.OFF):
        yield from _nothing_to_keep(parsed, rule.settings, defaults)
        return
    for name in _ONLY_ENFORCED:
        if parsed[name] not in _CHANGE_NOTHING:
            text = f"has no effect: the rule's mode is {mode}, and only enforce changes or copies anything"
            yield Problem(parsed.place, f"{parsed.path}.{name}", text)


def _not_globs(parsed: Parsed, match: Match) -> Iterator[Problem]:
    for name in ("topics", "client_ids", "principals", "client_software"):
        for pattern in getattr(match, name):
            if (text := meant_as_regex(pattern)) is not None:
                yield Problem(parsed.place, f"{parsed.path}.match.{name}", text)


def _claimed(parsed: Parsed, match: Match, gives: str) -> Problem:
    who = " and ".join(claims_of(match))
    text = f"{gives} by {who} alone, which any client may claim: add principals or addresses"
    return Problem(parsed.place, f"{parsed.path}.match", text)


def _deprecated(parsed: Parsed) -> Iterator[Problem]:
    if parsed[DIFFERENCE] is not None:
        text = f"is deprecated (KIP-937): say {BEFORE} and {AFTER}"
        yield Problem(parsed.place, f"{parsed.path}.{DIFFERENCE}", text)


def _nothing_to_keep(parsed: Parsed, settings: RuleSettings, defaults: RuleSettings) -> Iterator[Problem]:
    is_stamped = (settings.no_timestamp or defaults.no_timestamp) is Choice.STAMP
    is_mended = (settings.on_violation or defaults.on_violation) not in (None, OnViolation.REJECT)
    if parsed["keep_original_time"] and not (is_stamped or is_mended):
        text = "has no effect: no time is changed; say on_violation: repair or stamp, or no_timestamp: stamp"
        yield Problem(parsed.place, f"{parsed.path}.keep_original_time", text)


def _never_reached(parsed: Parsed, rule: Rule, first: dict[Match, Rule]) -> Iterator[Problem]:
    """`first` has the first rule of each match so far. A rule for everybody leaves internal topics to rules
    that name them."""
    names_internal = any(is_internal(pattern.text.strip("/")) for pattern in rule.match.topics)
    other = first.get(rule.match) or (None if names_internal else first.get(Match()))
    if other is not None:
        text = f"is never reached: {other.name} ({other.place}) comes first, and fits all that it fits"
        yield Problem(parsed.place, parsed.path, text)

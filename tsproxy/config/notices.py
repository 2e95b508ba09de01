"""Notices about a valid configuration: settings that have no effect, are no longer in effect, or are a risk.

A notice does not prevent the start of a proxy: a rule that is in audit for one night may keep its repair
settings. But an operator should know that these settings have no effect.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from tsproxy.config.parsed import Parsed
from tsproxy.config.patterns import comma_advice, regex_advice
from tsproxy.config.problems import Problem
from tsproxy.config.settings import (
    AdminSettings,
    ClientAuth,
    Config,
    SaslMechanism,
    Secret,
    ServerTls,
)
from tsproxy.config.settings.policy import AFTER, BEFORE
from tsproxy.config.values import instant_text
from tsproxy.model.addresses import ip_or_none
from tsproxy.model.policy import (
    SETTINGS,
    Choice,
    Inspect,
    LimitsFrom,
    Match,
    OnViolation,
    Policy,
    Rule,
    RuleSettings,
)
from tsproxy.policy.resolve import is_internal
from tsproxy.policy.review import allowances, avoidable_rules, claims_of

_NEEDS_FEW_RECORDS: Final = frozenset({"keep_original_time", "extended_timestamps", "inspect_compressed"})
"""The settings with which compressed batches may stay unread, whatever their value."""
_FOR_CERTIFICATES: Final = ("client_ca", "client_crl", "principal_mapping")
_SHELL_VARIABLE: Final = re.compile(r"\$[A-Z_][A-Z0-9_]*|%[A-Z_][A-Z0-9_]*%")


def notices(config: Config, now_ms: int) -> tuple[Problem, ...]:
    """All notices. Each names its place and the remedy. `now_ms` shows which waivers have ended."""
    section, policy = config.parsed["policy"], config.policy
    problems = [*_unused_defaults(section["defaults"], policy)]
    problems += _inspected(section["defaults"], replace(policy.defaults, before=None, after=None), policy)
    allowed = {rule.name: what for rule, what in allowances(policy)}
    avoidable = {rule.name: other for rule, other in avoidable_rules(policy)}
    first: dict[Match, Rule] = {}
    for parsed, rule in zip(section["rules"], policy.rules, strict=True):
        problems += _inspected(parsed, rule.settings, policy)
        problems += _never_reached(parsed, rule, first)
        if rule.name in allowed:
            problems.append(_allowed_by_claim(parsed, rule.match, f"allows {allowed[rule.name]}"))
        if rule.name in avoidable:
            problems.append(_avoidable(parsed, avoidable[rule.name]))
        problems += _misread(parsed, rule.match)
        first.setdefault(rule.match, rule)
    for parsed, waiver in zip(section["waivers"], policy.waivers, strict=True):
        problems += _misread(parsed, waiver.match)
        if waiver.until_ms <= now_ms:
            text = (
                f"was {instant_text(waiver.until_ms)}: it has no effect: remove the waiver, or extend `until`"
            )
            problems.append(parsed.problem(text, "until"))
        elif claims_of(waiver.match):
            problems.append(_allowed_by_claim(parsed, waiver.match, "lets everything pass"))
    problems += _password_notices(config.parsed["upstream"])
    problems += _token_notices(config.parsed["admin"], config.admin)
    for parsed, listener in zip(config.parsed["listeners"], config.listeners, strict=True):
        problems += _anybody_trusted(parsed)
        problems += _not_asked(parsed["tls"], listener.tls)
    problems += _not_asked(config.parsed["admin"]["tls"], config.admin.tls)
    return tuple(problems)


def _password_notices(upstream: Parsed) -> Iterator[Problem]:
    """Notices about the password of the proxy's own connection. They never show the password."""
    sasl: Parsed | None = upstream["admin"]["sasl"]
    if sasl is None:
        return
    if sasl["mechanism"] is SaslMechanism.PLAIN and upstream["tls"] is None:
        text = "sends the password in clear text: add upstream.tls, or use SCRAM-SHA-512"
        yield sasl.problem(text, "mechanism")
    yield from _shell_variable(sasl, "password")


def _token_notices(parsed: Parsed, admin: AdminSettings) -> Iterator[Problem]:
    """Notices about the token of the admin port. They never show the token."""
    if admin.token is None:
        return
    yield from _shell_variable(parsed, "token")
    if admin.tls is None and admin.bind is not None and not _is_loopback(admin.bind.host):
        text = f"is sent as it is to {admin.bind}, in clear text: add admin.tls, or bind to 127.0.0.1"
        yield parsed.problem(text, "token")


def _is_loopback(host: str) -> bool:
    ip = ip_or_none(host)
    return host == "localhost" if ip is None else ip.is_loopback


def _shell_variable(parsed: Parsed, key: str) -> Iterator[Problem]:
    secret: Secret | None = parsed[key]
    if secret and _SHELL_VARIABLE.fullmatch(secret.reveal()):
        text = "looks like a shell variable, but is used literally: only ${NAME} is replaced"
        yield parsed.problem(text, key)


def _anybody_trusted(listener: Parsed) -> Iterator[Problem]:
    proxy_protocol: Parsed | None = listener["proxy_protocol"]
    if proxy_protocol and any(not network.prefixlen for network in proxy_protocol["from"]):
        text = "lets every client choose its own address: list only the load balancer's addresses"
        yield proxy_protocol.problem(text, "from")


def _not_asked(parsed: Parsed, tls: ServerTls | None) -> Iterator[Problem]:
    """Notices about settings for clients' certificates, if no client is asked for one."""
    if tls is None or tls.client_auth is not ClientAuth.NONE:
        return
    for name in _FOR_CERTIFICATES:
        if getattr(tls, name, None):
            text = (
                "has no effect: client_auth is none, so no client shows a certificate; set client_auth: "
                "required, or leave this out"
            )
            yield parsed.problem(text, name)


def _unused_defaults(parsed: Parsed, policy: Policy) -> Iterator[Problem]:
    if policy.limits_from is LimitsFrom.BROKER:
        for name in (BEFORE, AFTER):
            if parsed[name] is not None:
                text = "is not used: topics set the limits (limits_from: broker); set limits_from: stricter"
                yield parsed.problem(text, name)


def _inspected(parsed: Parsed, settings: RuleSettings, policy: Policy) -> Iterator[Problem]:
    """A notice if compressed batches stay unread although the limits are not the broker's."""
    defaults = policy.defaults
    if (settings.inspect_compressed or defaults.inspect_compressed) is not Inspect.ADAPTIVE:
        return
    given = {name: getattr(settings, name) or getattr(defaults, name) for name in SETTINGS}
    if any(_needs_every_record(name, value) for name, value in given.items()):
        return
    if settings.before or settings.after or settings.preset or policy.limits_from is not LimitsFrom.BROKER:
        text = (
            "leaves most compressed batches unread, and the limits are not the broker's: a bad record that "
            "the header does not show may be stored; set all, or give the topic these limits"
        )
        yield parsed.problem(text, "inspect.compressed")


def _needs_every_record(name: str, value: object) -> bool:
    """True if a setting with this value needs every record. A value that does what a broker does needs none.
    The values are compared by identity, since values of two enums may be equal."""
    if name in _NEEDS_FEW_RECORDS or not value:
        return False
    return value is not Choice.ACCEPT and value is not OnViolation.REJECT


def _misread(parsed: Parsed, match: Match) -> Iterator[Problem]:
    for name in ("topics", "client_ids", "principals", "client_software"):
        for pattern in getattr(match, name):
            advices = regex_advice(pattern), comma_advice(pattern, is_principal=name == "principals")
            yield from (parsed.problem(text, f"match.{name}") for text in advices if text is not None)


def _allowed_by_claim(parsed: Parsed, match: Match, allowance: str) -> Problem:
    claims = " and ".join(claims_of(match))
    text = f"{allowance}, but matches only {claims}, which any client can fake: add principals or addresses"
    return parsed.problem(text, "match")


def _avoidable(parsed: Parsed, other: Rule | None) -> Problem:
    what = f"{other.name} ({other.place})" if other else "what holds where no rule fits"
    text = (
        f"is stricter than {what}, which applies to clients without a principal, so a client escapes this "
        "rule if it need not log in; make the rule without principals the strict one, and allow by name"
    )
    return parsed.problem(text, "match.principals")


def _never_reached(parsed: Parsed, rule: Rule, first: dict[Match, Rule]) -> Iterator[Problem]:
    """A notice about a rule that is never reached, because another rule comes first. `first` has the first
    rule of each match so far. A rule without a match does not hold for internal topics: only a rule that
    names them does."""
    names_internal = any(is_internal(pattern.text.strip("/")) for pattern in rule.match.topics)
    other = first.get(rule.match) or (None if names_internal else first.get(Match()))
    if other is not None:
        text = f"is never reached: {other.name} ({other.place}) comes first, and matches all that it matches"
        yield parsed.problem(text)

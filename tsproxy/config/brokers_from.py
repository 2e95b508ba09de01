"""A proxy without a connection of its own (`upstream.brokers_from: clients`): what does not go with it."""

from typing import Final

from tsproxy.config.parsed import Parsed
from tsproxy.config.problems import Problem
from tsproxy.config.settings import BrokersFrom, WhenBeyond
from tsproxy.model.policy import LimitsFrom

_KEY: Final = "upstream.brokers_from"

_NEEDS_OWN_CONNECTION: Final = (
    "upstream.admin.sasl",
    "decisions.topic",
    "dead_letters",
    "clock.probe",
)
"""Sections for which the proxy asks or writes something itself."""


def check_brokers_from(root: Parsed, problems: list[Problem]) -> None:
    """Adds what is wrong to `problems`; nothing where the sections cannot be read."""
    upstream, policy = root["upstream"], root["policy"]
    if not isinstance(upstream, Parsed) or not upstream.is_sound or not isinstance(policy, Parsed):
        return
    said: bool | None = upstream["clients_use_sasl"]
    place = f"{upstream.path}.clients_use_sasl"
    if upstream["brokers_from"] is BrokersFrom.OWN_CONNECTION:
        if said is not None:
            text = (
                f"goes with {_KEY}: clients alone; with a connection of its own the proxy knows: leave it out"
            )
            problems.append(Problem(upstream.place, place, text))
        return
    if said is None:
        text = f"is missing: with {_KEY}: clients nothing else tells whether clients are accepted by SASL"
        problems.append(Problem(upstream.place, place, text))
    if policy["limits_from"] is not LimitsFrom.CONFIG:
        text = f"must be config: with {_KEY}: clients the proxy asks no broker for the limits of topics"
        problems.append(Problem(policy.place, f"{policy.path}.limits_from", text))
    for path in _NEEDS_OWN_CONNECTION:
        section = _at(root, path)
        if section is not None:
            text = f"needs a connection of the proxy's own: leave it out, or say {_KEY}: own_connection"
            problems.append(Problem(section.place, path, text))
    clock = root["clock"]
    if isinstance(clock, Parsed) and clock.is_sound and clock["when_beyond"] is not WhenBeyond.WARN:
        text = f"must be warn: with {_KEY}: clients nothing is known of the brokers' clocks"
        problems.append(Problem(clock.place, f"{clock.path}.when_beyond", text))


def _at(root: Parsed, path: str) -> Parsed | None:
    found: object = root
    for name in path.split("."):
        found = found[name] if isinstance(found, Parsed) else None
    return found if isinstance(found, Parsed) else None

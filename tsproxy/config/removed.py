"""Keys that were given up, and the advice for a configuration that still has one."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

_TWO_LIMITS: Final = "give message.timestamp.before.max.ms and message.timestamp.after.max.ms (KIP-937)"

REMOVED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "upstream.brokers_from": "the proxy finds brokers on a connection of its own; give it a user "
        "(upstream.admin.sasl), or brokers that need no login",
        "upstream.clients_use_sasl": "clients log in if the proxy's own connection does; give it a user "
        "(upstream.admin.sasl)",
        "policy.defaults.message.timestamp.difference.max.ms": _TWO_LIMITS,
        "policy.candidate.message.timestamp.difference.max.ms": _TWO_LIMITS,
        "policy.rules[].message.timestamp.difference.max.ms": _TWO_LIMITS,
        "policy.rules[].max_jump_ahead": "give a limit, message.timestamp.after.max.ms, or write a custom "
        "rule about the records of a batch (rule: NAME)",
    }
)
"""The path of a key or of a section, as in `Key.path` -> what to do instead."""


def removed(path: str) -> str | None:
    """The text about a key that was given up; None about any other key."""
    return f"was removed: {advice}" if (advice := REMOVED.get(path)) else None

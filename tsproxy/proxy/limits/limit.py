"""The limits that close or reject a connection, by their names in metrics and log lines.

Each value is the configuration key after `limits.`.
"""

from typing import Final

from tsproxy.session.effects import ReasonToClose

_ALL: Final = "all that wait for an answer; a broker may have stored their batches"
_NONE: Final = "none"


class Limit(ReasonToClose):
    BUFFERED = (
        "buffered",
        "All connections together hold more than `limits.buffered`, and this one holds most.",
        _ALL,
        "Its bytes are what there is no memory for.",
    )
    CONNECTIONS = (
        "connections",
        "As many clients as `limits.connections` are connected.",
        _NONE,
        "Nothing was asked yet.",
    )
    CONNECTIONS_PER_ADDRESS = (
        "connections_per_address",
        "As many clients as `limits.connections_per_address` are connected from this address.",
        _NONE,
        "Nothing was asked yet. Brokers close, too, above `max.connections.per.ip`.",
    )
    HANDSHAKE = (
        "handshake",
        "The PROXY protocol's header and the TLS handshake did not come within `limits.handshake`.",
        _NONE,
        "Nothing was asked yet.",
    )
    IDLE = (
        "idle",
        "Nothing came from either end for `limits.idle`, and no answer is outstanding.",
        _NONE,
        "Nothing was asked. Brokers close, too, and by default earlier (`connections.max.idle.ms`).",
    )
    STALLED_FRAME = (
        "stalled_frame",
        "A request has begun, and its end did not come within `limits.stalled_frame`.",
        f"this request, and {_ALL}",
        "Nobody knows what was asked.",
    )

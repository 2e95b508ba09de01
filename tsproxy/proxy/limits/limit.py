"""The limits that end or reject a connection, as metrics and log lines name them.

Each value is the key of the configuration behind `limits.`; the list is closed, since it labels a metric.
"""

from enum import StrEnum


class Limit(StrEnum):
    BUFFERED = "buffered"
    CONNECTIONS = "connections"
    CONNECTIONS_PER_ADDRESS = "connections_per_address"
    HANDSHAKE = "handshake"
    IDLE = "idle"
    STALLED_FRAME = "stalled_frame"

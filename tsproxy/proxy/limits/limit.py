"""The limits that close or reject a connection, by their names in metrics and log lines.

Each value is the configuration key after `limits.`. The list is closed, since it labels a metric.
"""

from enum import StrEnum


class Limit(StrEnum):
    BUFFERED = "buffered"
    CONNECTIONS = "connections"
    CONNECTIONS_PER_ADDRESS = "connections_per_address"
    HANDSHAKE = "handshake"
    IDLE = "idle"
    STALLED_FRAME = "stalled_frame"

"""The limits that close or reject a connection, by their names in metrics and log lines."""

from tsproxy.session.effects import ReasonToClose


class Limit(ReasonToClose):
    """Each value is the configuration key after `limits.`."""

    BUFFERED = "buffered"
    CONNECTIONS = "connections"
    CONNECTIONS_PER_ADDRESS = "connections_per_address"
    HANDSHAKE = "handshake"
    IDLE = "idle"
    STALLED_FRAME = "stalled_frame"

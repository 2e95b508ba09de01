"""`decisions`: the decision log."""

from dataclasses import dataclass
from pathlib import Path

from tsproxy.config.keys import fixed, live, section
from tsproxy.config.kinds import (
    ADDRESS,
    DURATION,
    FILE_AGE,
    FILE_SIZE,
    INTERVAL,
    PATH,
    SECRET,
    TOPIC,
    TOTAL_SIZE,
    choice,
    or_word,
)
from tsproxy.config.values import Secret
from tsproxy.decisions.privacy import Redaction
from tsproxy.model.addresses import Address


@dataclass(frozen=True, slots=True)
class Retention:
    """How long closed decision files are kept. With None, their age, or their total size, is not limited."""

    age_ms: int | None = live(
        or_word(DURATION, "unlimited"), "Closed decision files are deleted at this age.", default="14d"
    )
    size_bytes: int | None = live(
        or_word(TOTAL_SIZE, "unlimited"),
        "The oldest closed decision files are deleted while the closed files in the folder are larger.",
        default="20GiB",
    )


@dataclass(frozen=True, slots=True)
class TopicSettings:
    """The topic to which the decision log is sent as well. Without servers of its own it is in the upstream
    cluster."""

    name: str = fixed(TOPIC, "The topic.")
    bootstrap_servers: tuple[Address, ...] = fixed(
        ADDRESS,
        "Brokers of the topic; without them those of `upstream`. `upstream.tls` and "
        "`upstream.admin.sasl` apply to both.",
        default=None,
        many=True,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Decisions:
    directory: Path = fixed(
        PATH, "Folder of the decision log; made if it is missing.", default="tsproxy-decisions"
    )
    interval_ms: int = fixed(
        INTERVAL,
        "How often counters are written.",
        default="1m",
    )
    sync_every_ms: int | None = live(
        or_word(DURATION, "never"),
        "How often written lines are forced to the disk.",
        path="sync",
        default="10s",
    )
    """With None, the system decides when an open file reaches the disk."""
    rotate_every_ms: int = live(
        FILE_AGE,
        "A decision file is closed at this age.",
        path="rotate.every",
        default="15m",
    )
    rotate_size_bytes: int = live(
        FILE_SIZE, "A decision file is closed at this size.", path="rotate.size", default="128MiB"
    )
    retention: Retention = section(Retention)
    addresses: Redaction = fixed(
        choice(Redaction),
        "How clients' addresses are written to the decision log; `drop` leaves their ports out as well.",
        path="privacy.addresses",
        default="keep",
    )
    principals: Redaction = fixed(
        choice(Redaction), "The same for principals.", path="privacy.principals", default="keep"
    )
    salt: Secret | None = fixed(
        SECRET,
        "The key of the hashes; the same for proxies whose logs are read together. Without it one is "
        "made once, and kept in the folder (`.salt`).",
        path="privacy.salt",
        default=None,
    )
    topic: TopicSettings | None = section(
        TopicSettings, optional="The decision log goes to a Kafka topic as well if this section is present."
    )

    @property
    def hashes(self) -> bool:
        return Redaction.HASH in (self.addresses, self.principals)

"""The part of the table of keys that says what is written down of decisions, and where: `decisions`."""

from typing import Final

from tsproxy.config.kinds import (
    ADDRESS,
    AGE,
    FILE_AGE,
    FILE_SIZE,
    INTERVAL,
    PATH,
    SECRET,
    SHOWN,
    TOPIC,
    TOTAL_SIZE_OR_UNLIMITED,
    UNLESS_NEVER,
    Key,
)

DECISION_KEYS: Final = (
    Key(
        "decisions.directory",
        PATH,
        "Folder of the decision log; made if it is missing.",
        default="tsproxy-decisions",
    ),
    Key(
        "decisions.interval",
        INTERVAL,
        "How often what was counted is written down; what a process that is killed loses at most.",
        default="1m",
    ),
    Key(
        "decisions.sync",
        UNLESS_NEVER,
        "How often what was written is forced to the disk, for a machine that loses its power; whole files "
        "always are.",
        default="10s",
        is_live=True,
    ),
    Key(
        "decisions.rotate.every",
        FILE_AGE,
        "A decision file is closed at this age, whatever its size; at most `1d`, since reports read the "
        "files opened on a day, the day before and the day after.",
        default="15m",
        is_live=True,
    ),
    Key(
        "decisions.rotate.size",
        FILE_SIZE,
        "A decision file is closed at this size.",
        default="128MiB",
        is_live=True,
    ),
    Key(
        "decisions.retention.age",
        AGE,
        "Closed decision files are deleted at this age.",
        default="14d",
        is_live=True,
    ),
    Key(
        "decisions.retention.size",
        TOTAL_SIZE_OR_UNLIMITED,
        "The oldest closed decision files are deleted where all in the folder are larger together.",
        default="20GiB",
        is_live=True,
    ),
    Key(
        "decisions.privacy.addresses",
        SHOWN,
        "How clients' addresses stand in the decision log; `drop` leaves their ports out as well.",
        default="keep",
    ),
    Key("decisions.privacy.principals", SHOWN, "The same for principals.", default="keep"),
    Key(
        "decisions.privacy.salt",
        SECRET,
        "What hashes are keyed with: the same for proxies whose logs are read together. Without it one is "
        "made once, and kept in the folder of the decision log (`.salt`).",
    ),
    Key("decisions.topic.name", TOPIC, "The topic.", is_required=True),
    Key(
        "decisions.topic.bootstrap_servers",
        ADDRESS,
        "Brokers of the topic; without them those of `upstream`. `upstream.tls` and `upstream.admin.sasl` go "
        "for both.",
        is_list=True,
    ),
)

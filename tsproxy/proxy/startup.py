"""The start of a process: its memory, its decision log, and the errors of a start that fails."""

import ctypes
import secrets
import socket
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from tsproxy.clock import Clock
from tsproxy.config.settings import Config, Decisions
from tsproxy.decisions import DecisionLog, Privacy
from tsproxy.decisions.totals import Totals
from tsproxy.proxy.decision_log.files import DecisionFiles
from tsproxy.proxy.decision_log.recorder import DecisionRecorder
from tsproxy.proxy.decision_log.salt import salt_of
from tsproxy.proxy.decision_log.topic import DecisionTopic
from tsproxy.proxy.metrics.registry import Metrics
from tsproxy.proxy.reload.certificates import Copy
from tsproxy.tls.contexts import CurrentTls

_M_TRIM_THRESHOLD: Final = -1  # malloc.h of glibc
_M_MMAP_THRESHOLD: Final = -3
KEPT_BYTES: Final = 16 << 20
MAPPED_BYTES: Final = 8 << 20


def keep_freed_memory() -> None:
    """Let the end of the heap have `KEPT_BYTES` of freed memory. Blocks of `MAPPED_BYTES` and more go back to
    the system at once.

    To decompress a batch of 1 MB takes a few blocks of that size. By default glibc gives them back after each
    batch, and the next one pays for 500 page faults: 0.8 ms, where decompressing takes 0.1 to 0.3 ms. Another
    C library has no such function, or ignores it.
    """
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except AttributeError:
        return
    mallopt(_M_TRIM_THRESHOLD, KEPT_BYTES)
    mallopt(_M_MMAP_THRESHOLD, MAPPED_BYTES)


class StartError(Exception):
    """The proxy cannot run with this configuration. The text says why and what to do."""


@dataclass(frozen=True, slots=True)
class Kept:
    """The part of the supervisor's orders for a process that replaces another one. So it serves as its
    neighbours do, even if the decision folder or the files of a certificate are unusable now. A first process
    reads them, and is refused then."""

    salt: bytes = field(repr=False)
    certificates: Mapping[str, Copy]


def in_force(config: Config) -> dict[str, object]:
    """The facts about a configuration for the decision log."""
    return {
        "mode": config.policy.mode.value,
        "limits_from": config.policy.limits_from.value,
        "rules": [rule.name for rule in config.policy.rules],
        "waivers": [waiver.name for waiver in config.policy.waivers],
        "listeners": [listener.name for listener in config.listeners],
        "privacy": {
            "addresses": config.decisions.addresses.value,
            "principals": config.decisions.principals.value,
        },
    }


def recorder_of(
    config: Config,
    tls: CurrentTls | None,
    metrics: Metrics,
    clock: Clock,
    drain: Callable[[], Iterable[Totals]],
    time_for_ages: Callable[[], int | None],
    kept: Kept | None = None,
) -> DecisionRecorder:
    """The decision log of this boot. The proxy has the name of its machine. The boot has a new name.
    `time_for_ages` is the time by which files are too old (`FileRotation`)."""
    proxy, boot, now_ms = socket.gethostname(), f"{clock.now_ms():x}{secrets.token_hex(4)}", clock.now_ms()
    files = DecisionFiles(config.decisions, proxy, boot, clock, time_for_ages)
    decisions = config.decisions
    privacy = Privacy(decisions.addresses, decisions.principals, kept.salt if kept else salt_in(decisions))
    decision_log = DecisionLog(proxy, boot, now_ms, interval_ms=decisions.interval_ms, privacy=privacy)
    topic = None
    if decisions.topic is not None:
        topic = DecisionTopic(decisions.topic, config.upstream, tls, decisions.directory, files.name)
    return DecisionRecorder(decision_log, files, metrics, clock, drain, topic)


def salt_in(decisions: Decisions) -> bytes:
    """The salt in force. Raises StartError."""
    try:
        return salt_of(decisions)
    except OSError as error:
        raise not_writable(decisions, error) from None


def not_writable(decisions: Decisions, error: OSError) -> StartError:
    return StartError(
        f"decisions.directory: {decisions.directory} cannot be written: {error.strerror}; "
        "name a folder that this user may write to (--decisions)"
    )

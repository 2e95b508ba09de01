"""Reads certificates, keys and authorities again when their files change.

A TLS context never changes. For new connections, a new context is made from the new files. Existing
connections keep their context, so no connection is closed. While files are being replaced they may not match
for a moment. So a change is used only if the next check finds no further change. If files are unusable, the
old context stays in force, and the log names the problem.

This module also reports how long certificates last, as a metric and with an early warning.
"""

import asyncio
import ssl
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from tsproxy.clock import Clock
from tsproxy.config.problems import ConfigError, Problem
from tsproxy.config.settings import Config, ServerTls, UpstreamTls
from tsproxy.config.source import FileState, state_of
from tsproxy.log_events.catalogue import (
    CERTIFICATE_ENDS_SOON,
    CERTIFICATE_EXPIRED,
    CERTIFICATES_NOT_RELOADED,
    CERTIFICATES_RELOADED,
    CERTIFICATES_STILL_NOT_RELOADED,
    CERTIFICATES_WATCH_CRASHED,
    REVOCATIONS_END_SOON,
    REVOCATIONS_EXPIRED,
    TLS_SESSIONS_STORED,
)
from tsproxy.proxy.metrics.catalogue import (
    CERTIFICATE_EXPIRY,
    CERTIFICATES_LAST_RELOAD_SUCCESSFUL,
    SESSIONS_STORED,
)
from tsproxy.proxy.metrics.registry import Metrics
from tsproxy.proxy.notes import frames_of
from tsproxy.proxy.parts import Commit
from tsproxy.proxy.wait import next_tick
from tsproxy.tls.certificate_expiry import CRL, End, ends_of, files_of
from tsproxy.tls.contexts import STORED_ADVICE, server_context, upstream_context
from tsproxy.tls.sessions import keep_no_sessions, why_not

POLL_INTERVAL_S: Final = 1.0
WARN_INTERVAL_S: Final = 86_400.0
UNUSABLE_GRACE_S: Final = 60.0
"""How long files may be unusable before that is an error. A certificate and its key change in two steps."""

_ADVICE: Final = "the old ones stay in use; tried again when a file changes"

States = tuple[FileState, ...]
"""The state of the files at one check."""


@dataclass(frozen=True, slots=True)
class Sources:
    """The parts of a context: the section of the configuration, its files by setting, and the function that
    makes the context."""

    section: str
    files: Mapping[str, Path]
    make: Callable[[], ssl.SSLContext]

    @classmethod
    def of_server(cls, section: str, tls: ServerTls) -> "Sources":
        return cls(f"{section}.tls", files_of(tls, f"{section}.tls"), partial(server_context, tls))

    @classmethod
    def of_upstream(cls, tls: UpstreamTls) -> "Sources":
        return cls("upstream.tls", files_of(tls, "upstream.tls"), partial(upstream_context, tls))

    def states(self) -> States:
        return tuple(map(state_of, self.files.values()))


@dataclass(slots=True)
class Unusable:
    """The files cannot be used since `since_s`, on the monotonic clock."""

    lines: list[str]
    since_s: float
    is_logged: bool = False


class Credentials:
    """One context and its files. Raises ConfigError for unusable files."""

    def __init__(self, sources: Sources) -> None:
        self._seen = self._tried = sources.states()
        self._sources = sources
        self._context = sources.make()
        self._keeps_no_sessions = False
        self.ends = tuple(ends_of(sources.files))
        self.problem: Unusable | None = None
        """The reason why the files on disk are not in use; None if they are."""

    @property
    def section(self) -> str:
        return self._sources.section

    def current(self) -> ssl.SSLContext:
        return self._context

    def keep_no_sessions(self) -> None:
        """Turn off OpenSSL's store of sessions, also for later contexts. Only if `why_not` finds nothing."""
        self._keeps_no_sessions = True
        keep_no_sessions(self._context)

    def prepare(self, sources: Sources) -> Commit:
        """Make a new context, perhaps from other files. Raises ConfigError. The old one stays until the
        commit."""
        states = sources.states()
        context, ends = sources.make(), tuple(ends_of(sources.files))

        def commit() -> None:
            self._context, self.ends = context, ends
            if self._keeps_no_sessions:
                keep_no_sessions(context)
            self._seen = self._tried = states
            self._sources = sources
            self.problem = None

        return commit

    async def use_changed(self) -> bool:
        """Use files that have changed and then stayed the same for one check. Returns whether new files are
        in use now.

        Raises ConfigError if the files are unusable. They are tried again when they change again. A thread
        reads them, since a file system that hangs must not block clients. If a reload comes meanwhile, its
        files and settings stay in use.
        """
        sources = self._sources
        states = await asyncio.to_thread(sources.states)
        if sources is not self._sources:
            return False
        is_at_rest, self._seen = states == self._seen, states
        if states == self._tried or not is_at_rest:
            return False
        self._tried = states
        try:
            commit = await asyncio.to_thread(self.prepare, sources)
        except ConfigError:
            if sources is self._sources:
                raise
            return False
        if sources is self._sources:
            commit()
        return sources is self._sources


class Certificates:
    """All credentials of one configuration. Raises ConfigError."""

    def __init__(self, config: Config, metrics: Metrics, clock: Clock) -> None:
        self._clock = clock
        self._expiry = CERTIFICATE_EXPIRY.gauge(metrics.registry)
        self._sessions_stored = SESSIONS_STORED.gauge(metrics.registry)
        self._stores_sessions = False
        self._reloaded = CERTIFICATES_LAST_RELOAD_SUCCESSFUL.gauge(metrics.registry)
        self._warned_s: dict[End, float] = {}
        tls = config.upstream.tls
        self.upstream = Credentials(Sources.of_upstream(tls)) if tls else None
        self.listeners = {
            listener.name: Credentials(Sources.of_server(f"listeners.{listener.name}", listener.tls))
            for listener in config.listeners
            if listener.tls
        }
        self.admin = credentials_of_admin(config)

    def prepare(self, config: Config) -> Commit:
        """A reload: read all files that the new configuration names. Raises ConfigError with all problems.

        A restart is needed to switch TLS on or off for a listener, the upstream or the admin port.
        """
        tls = {listener.name: listener.tls for listener in config.listeners}
        steps = [
            partial(credentials.prepare, Sources.of_server(f"listeners.{name}", its))
            for name, credentials in self.listeners.items()
            if (its := tls[name]) is not None
        ]
        if self.upstream is not None and config.upstream.tls is not None:
            steps.append(partial(self.upstream.prepare, Sources.of_upstream(config.upstream.tls)))
        if self.admin is not None and (sources := sources_of_admin(config)) is not None:
            steps.append(partial(self.admin.prepare, sources))
        commits: list[Commit] = []
        problems: list[Problem] = []
        for prepare in steps:
            try:
                commits.append(prepare())
            except ConfigError as error:
                problems += error.problems
        if problems:
            raise ConfigError(*problems)

        def commit() -> None:
            for apply in commits:
                apply()

        return commit

    async def keep_no_sessions(self) -> None:
        """Turn off OpenSSL's store of sessions. A process tries it first, beside the start."""
        self._stores_sessions = not await keep_no_sessions_of(self._servers())

    async def watch(self) -> None:
        while True:
            self.log_ends()
            await next_tick(POLL_INTERVAL_S)
            for credentials in self._all():
                await use_changed_files(credentials, self._clock)

    def log_ends(self) -> None:
        """Set the metric of each certificate's remaining time, and warn once a day when it is due."""
        now_s = self._clock.now_ms() / 1000
        for credentials in self._all():
            self._reloaded.labels(credentials.section).set(credentials.problem is None)
        self._sessions_stored.set(self._stores_sessions and any(map(_speaks_tls_1_2, self._servers())))
        ends = [end for credentials in self._all() for end in credentials.ends]
        self._expiry.clear()
        self._warned_s = {end: self._warned_s[end] for end in ends if end in self._warned_s}
        for end in ends:
            left_s = end.expires_s - now_s
            self._expiry.labels(end.setting).set(left_s)
            warned_s = self._warned_s.get(end, 0.0)
            has_just_ended = warned_s < end.expires_s <= now_s
            if now_s < end.warn_s or (now_s < warned_s + WARN_INTERVAL_S and not has_just_ended):
                continue
            self._warned_s[end] = now_s
            facts = {"setting": end.setting, "file": str(end.file), "subject": end.subject}
            is_list = end.setting.endswith(CRL)
            if left_s > 0:
                ends_soon = REVOCATIONS_END_SOON if is_list else CERTIFICATE_ENDS_SOON
                ends_soon(**facts, hours_left=int(left_s // 3600))
            else:
                has_ended = REVOCATIONS_EXPIRED if is_list else CERTIFICATE_EXPIRED
                has_ended(**facts, hours_ago=int(-left_s // 3600))

    def _servers(self) -> Iterator[Credentials]:
        yield from self.listeners.values()
        if self.admin is not None:
            yield self.admin

    def _all(self) -> Iterator[Credentials]:
        yield from self._servers()
        if self.upstream is not None:
            yield self.upstream


async def keep_no_sessions_of(servers: Iterable[Credentials]) -> bool:
    """Whether OpenSSL's store of sessions is off for all of these now. If not, the log has the reason."""
    servers = [*servers]
    why = await asyncio.to_thread(why_not) if servers else None
    if why is None:
        for credentials in servers:
            credentials.keep_no_sessions()
    elif any(map(_speaks_tls_1_2, servers)):
        TLS_SESSIONS_STORED(error=why, advice=STORED_ADVICE)
    return why is None


def _speaks_tls_1_2(server: Credentials) -> bool:
    return server.current().minimum_version is not ssl.TLSVersion.TLSv1_3


def credentials_of_admin(config: Config) -> Credentials | None:
    """The credentials of the admin port; None if it has no TLS. Raises ConfigError."""
    sources = sources_of_admin(config)
    return Credentials(sources) if sources else None


def sources_of_admin(config: Config) -> Sources | None:
    return Sources.of_server("admin", config.admin.tls) if config.admin.tls else None


async def use_changed_files(credentials: Credentials, clock: Clock) -> None:
    """Use the files that have changed, and log their settings. Files that stay unusable are logged again, as
    an error."""
    _log_if_it_lasts(credentials, clock)
    try:
        if await credentials.use_changed():
            CERTIFICATES_RELOADED(settings=[end.setting for end in credentials.ends])
    except ConfigError as error:
        credentials.problem = Unusable(str(error).splitlines(), clock.monotonic_ms() / 1000)
        CERTIFICATES_NOT_RELOADED(problems=credentials.problem.lines, advice=_ADVICE)
    except Exception as error:
        # An error in our code must not end the checks of the other files.
        CERTIFICATES_WATCH_CRASHED(error=type(error).__name__, frames=frames_of(error))


def _log_if_it_lasts(credentials: Credentials, clock: Clock) -> None:
    problem = credentials.problem
    if (
        problem is None
        or problem.is_logged
        or clock.monotonic_ms() / 1000 < problem.since_s + UNUSABLE_GRACE_S
    ):
        return
    problem.is_logged = True
    CERTIFICATES_STILL_NOT_RELOADED(problems=problem.lines, advice=_ADVICE)

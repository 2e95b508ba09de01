"""Reads certificates, keys and authorities again when their files change.

A TLS context never changes. For new connections, a new context is made from the new files. Existing
connections keep their context, so no connection is closed. While files are being replaced they may not match
for a moment. So a change is used only if the next check finds no further change. If files are unusable, the
old context stays in force, the log names the problem, and the files are tried again (`Retry`): perhaps they
could not be read for a moment.

This module also reports how long certificates last, as a metric and with an early warning.
"""

import asyncio
import os
import ssl
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from prometheus_client import CollectorRegistry

from tsproxy.clock import Clock
from tsproxy.config.problems import ConfigError, FileProblem, Problem
from tsproxy.config.settings import Config, ServerTls, UpstreamTls
from tsproxy.config.source import FileState, state_of
from tsproxy.config.values import Secret, SecretError, SecretFile
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
from tsproxy.proxy.notes import frames_of
from tsproxy.proxy.parts import Commit
from tsproxy.proxy.reload.retry import AGAIN_S, Retry
from tsproxy.proxy.wait import next_tick
from tsproxy.tls.certificate_expiry import CRL, End, ends_of, files_of
from tsproxy.tls.contexts import STORED_ADVICE, server_context, upstream_context
from tsproxy.tls.sessions import keep_no_sessions, why_not

POLL_INTERVAL_S: Final = 1.0
WARN_INTERVAL_S: Final = 86_400.0
UNUSABLE_GRACE_S: Final = 60.0
"""How long files may be unusable before that is an error. A certificate and its key change in two steps."""

_ADVICE: Final = f"the old ones stay in use; tried again every {AGAIN_S:g} s, and when a file changes"

States = tuple[FileState, ...]
"""The state of the files at one check."""


@dataclass(frozen=True, slots=True)
class Copy:
    """The contents of the files of a context, and their states then. A process that replaces another one
    begins with it: the files on disk may be unusable now."""

    states: States
    contents: Mapping[Path, bytes] = field(repr=False)
    password: Secret | None


@dataclass(frozen=True, slots=True)
class Sources:
    """The parts of a context: a section of the configuration, and its name."""

    section: str
    tls: ServerTls | UpstreamTls

    @property
    def files(self) -> Mapping[str, Path]:
        return files_of(self.tls, self.section)

    def states(self) -> States:
        files, password = [*self.files.values()], self.tls.key_password
        if isinstance(password, SecretFile):
            files.append(Path(password.path))
        return tuple(map(state_of, files))

    def make(self) -> ssl.SSLContext:
        return upstream_context(self.tls) if isinstance(self.tls, UpstreamTls) else server_context(self.tls)

    def make_from(self, copy: Copy) -> ssl.SSLContext:
        """The context of a copy. OpenSSL reads a key from a file only, so this is a file in memory."""
        with ExitStack() as held:
            paths: dict[str, Any] = {}
            for setting, file in self.files.items():
                memory = held.enter_context(open(os.memfd_create(setting), "wb", buffering=0))
                memory.write(copy.contents[file])
                paths[setting.rpartition(".")[2]] = Path(f"/proc/self/fd/{memory.fileno()}")
            return Sources(self.section, replace(self.tls, **paths, key_password=copy.password)).make()

    def copied(self, states: States) -> Copy:
        """A copy of the files. `states` are those of a moment before: if the files have changed since, the
        next check sees other states. Raises OSError."""
        password = self.tls.key_password
        with suppress(SecretError):
            password = password and Secret(password.reveal())
        return Copy(states, {file: file.read_bytes() for file in self.files.values()}, password)


@dataclass(slots=True)
class Unusable:
    """The files cannot be used since `since_s`, on the monotonic clock."""

    lines: list[str]
    since_s: float
    is_logged: bool = False


class Credentials:
    """One context and its files, or a `copy` of them. Raises ConfigError for unusable files."""

    def __init__(self, sources: Sources, copy: Copy | None = None) -> None:
        self._keeps_no_sessions = False
        self._retry = Retry(Clock())
        if copy is None:
            self.prepare(sources)()
        else:
            self._use(sources, copy, sources.make_from(copy))

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
        try:
            context = sources.make()  # it names the file and the setting
            return partial(self._use, sources, sources.copied(states), context)
        except OSError as error:
            text = f"its files cannot be read: {error.strerror}"
            raise ConfigError(FileProblem("", sources.tls.place, text)) from None

    def _use(self, sources: Sources, copy: Copy, context: ssl.SSLContext) -> None:
        self._context, self.copy = context, copy
        self.ends = tuple(ends_of(sources.files, copy.contents.__getitem__))
        if self._keeps_no_sessions:
            keep_no_sessions(context)
        self._seen = self._tried = copy.states
        self._sources = sources
        self._retry.forget()
        self.problem: Unusable | None = None
        """The reason why the files on disk are not in use; None if they are."""

    def failed(self, lines: list[str], now_s: float) -> bool:
        """The files on disk cannot be used, and are tried again. Returns whether the reason is a new one."""
        is_new = self._retry.failed(lines)
        if is_new:
            self.problem = Unusable(lines, now_s)
        return is_new

    async def use_changed(self) -> bool:
        """Use files that have changed and then stayed the same for one check. Returns whether new files are
        in use now.

        Raises ConfigError if the files are unusable. A thread reads them, since a file system that hangs must
        not block clients. If a reload comes meanwhile, its files and settings stay in use.
        """
        sources = self._sources
        states = await asyncio.to_thread(sources.states)
        if sources is not self._sources:
            return False
        is_at_rest, self._seen = states == self._seen, states
        if not is_at_rest:
            return False
        if states != self._tried:
            self._retry.forget()
        elif not self._retry.is_due:
            return False
        self._tried = states
        try:
            commit = await asyncio.to_thread(self.prepare, sources)
        except Exception:  # also a mistake of ours is about files that a reload may have put out of use
            if sources is self._sources:
                raise
            return False
        if sources is self._sources:
            commit()
        return sources is self._sources


class Certificates:
    """All credentials of one configuration. Raises ConfigError."""

    def __init__(
        self,
        config: Config,
        registry: CollectorRegistry,
        clock: Clock,
        copies: Mapping[str, Copy] = MappingProxyType({}),
    ) -> None:
        self._clock = clock
        self._expiry = CERTIFICATE_EXPIRY.gauge(registry)
        self._sessions_stored = SESSIONS_STORED.gauge(registry)
        self._stores_sessions = False
        self._reloaded = CERTIFICATES_LAST_RELOAD_SUCCESSFUL.gauge(registry)
        self._warned_s: dict[End, float] = {}
        self._all = {
            section: Credentials(sources, copies.get(section)) for section, sources in _sources_of(config)
        }
        self.upstream = self._all.get("upstream.tls")
        self.listeners = {
            listener.name: self._all[f"listeners.{listener.name}.tls"]
            for listener in config.listeners
            if listener.tls
        }
        self.admin = self._all.get("admin.tls")

    def copies(self) -> dict[str, Copy]:
        """Copies of the files in use, by section, for the constructor of another process."""
        return {section: credentials.copy for section, credentials in self._all.items()}

    def prepare(self, config: Config) -> Commit:
        """A reload: read all files that the new configuration names. Raises ConfigError with all problems.

        A restart is needed to switch TLS on or off for a listener, the upstream or the admin port.
        """
        commits: list[Commit] = []
        problems: list[Problem] = []
        for section, sources in _sources_of(config):
            if section not in self._all:
                continue
            try:
                commits.append(self._all[section].prepare(sources))
            except ConfigError as error:
                problems += error.problems
        if problems:
            raise ConfigError(*problems)

        def commit() -> None:
            for apply in commits:
                apply()

        return commit

    async def keep_no_sessions(self) -> None:
        """Turn off OpenSSL's store of sessions. A process tries it first, beside the start. If it cannot be
        turned off, the log has the reason."""
        servers = self._servers()
        why = await asyncio.to_thread(why_not) if servers else None
        if why is None:
            for credentials in servers:
                credentials.keep_no_sessions()
        elif any(map(_speaks_tls_1_2, servers)):
            TLS_SESSIONS_STORED(error=why, advice=STORED_ADVICE)
        self._stores_sessions = why is not None

    async def watch(self) -> None:
        while True:
            self.log_ends()
            await next_tick(POLL_INTERVAL_S)
            for credentials in self._all.values():
                await use_changed_files(credentials, self._clock)

    def log_ends(self) -> None:
        """Set the metric of each certificate's remaining time, and warn once a day when it is due."""
        now_s = self._clock.now_ms() / 1000
        for credentials in self._all.values():
            self._reloaded.labels(credentials.section).set(credentials.problem is None)
        self._sessions_stored.set(self._stores_sessions and any(map(_speaks_tls_1_2, self._servers())))
        ends = [end for credentials in self._all.values() for end in credentials.ends]
        self._expiry.clear()
        # A time that lies ahead is one of a wrong clock.
        self._warned_s = {end: at_s for end, at_s in self._warned_s.items() if end in ends and at_s <= now_s}
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

    def _servers(self) -> list[Credentials]:
        return [credentials for credentials in self._all.values() if credentials is not self.upstream]


def _speaks_tls_1_2(server: Credentials) -> bool:
    return server.current().minimum_version is not ssl.TLSVersion.TLSv1_3


def _sources_of(config: Config) -> Iterator[tuple[str, Sources]]:
    """The name of each section with TLS, and its files."""
    listeners = [(f"listeners.{listener.name}.tls", listener.tls) for listener in config.listeners]
    for section, tls in (*listeners, ("upstream.tls", config.upstream.tls), ("admin.tls", config.admin.tls)):
        if tls is not None:
            yield section, Sources(section, tls)


async def use_changed_files(credentials: Credentials, clock: Clock) -> None:
    """Use the files that have changed, and log their settings. Files that stay unusable are logged again, as
    an error."""
    _log_if_it_lasts(credentials, clock)
    now_s = clock.monotonic_ms() / 1000
    try:
        if await credentials.use_changed():
            CERTIFICATES_RELOADED(settings=[end.setting for end in credentials.ends])
    except ConfigError as error:
        if credentials.failed(lines := str(error).splitlines(), now_s):
            CERTIFICATES_NOT_RELOADED(problems=lines, advice=_ADVICE)
    except Exception as error:
        # An error in our code must not end the checks of the other files.
        frames = frames_of(error)
        if credentials.failed(["a mistake in tsproxy; please report the frames", *frames], now_s):
            CERTIFICATES_WATCH_CRASHED(error=type(error).__name__, frames=frames)


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

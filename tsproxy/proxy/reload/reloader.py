"""Reads the configuration again while the proxy runs, and applies it completely or not at all.

`Reloader` decides when to reload: at SIGHUP, when the file has changed, and every AGAIN_S after a rejection.
`server.Proxy` prepares what may fail, and then applies the rest (`proxy.parts`). With workers, the supervisor
orders every worker to prepare. Then all workers commit, or none does.
"""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Iterable
from enum import StrEnum
from typing import Final

from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from tsproxy.clock import Clock
from tsproxy.config.enforced import enforced, extent
from tsproxy.config.keys import Key, SectionKeys
from tsproxy.config.problems import ConfigError
from tsproxy.config.reloaded import Reloaded, reloaded
from tsproxy.config.settings import Config
from tsproxy.config.source import Source
from tsproxy.config.written import as_yaml
from tsproxy.log_events.catalogue import (
    CONFIG_NEEDS_RESTART,
    CONFIG_NOT_RELOADED,
    CONFIG_RELOAD_CRASHED,
    CONFIG_RELOADED,
)
from tsproxy.model.custom_rule import ENDS_PROCESS
from tsproxy.proxy.metrics.catalogue import (
    CONFIG_INFO,
    CONFIG_LAST_RELOAD_SUCCESS,
    CONFIG_LAST_RELOAD_SUCCESSFUL,
    CONFIG_RELOAD,
    ENFORCEMENT_ENDED,
    POLICY_MODE,
)
from tsproxy.proxy.notes import frames_of
from tsproxy.proxy.reload.retry import AGAIN_S, Retry
from tsproxy.proxy.service_manager import ServiceManager
from tsproxy.proxy.wait import wait_at_most

POLL_INTERVAL_S: Final = 1.0
OF_MACHINE: Final = frozenset({"listeners[]", "admin", "decisions"})
"""The sections with settings that name a machine, such as `bind`. Two proxies may differ in them."""

_ADVICE: Final = (
    "the old configuration stays in force; tried again "
    f"every {AGAIN_S:g} s, when the file changes, and at SIGHUP"
)

Adopt = Callable[[Reloaded], Awaitable[None]]
"""Applies a new configuration to the whole proxy, or raises ConfigError and changes nothing."""


class Result(StrEnum):
    """How a reload ended. It is the label of `tsproxy_config_reload_total`."""

    TAKEN = "taken"
    REJECTED = "rejected"


class Reloader(Collector):
    """Watches `source` for a proxy whose configuration is `running`, and counts the results."""

    def __init__(self, source: Source, running: Config, adopt: Adopt, manager: ServiceManager) -> None:
        self._adopt = adopt
        self._ended = dict.fromkeys(Result, 0)
        self._enforced_until_s: float | None = None
        """When a reload left less enforced (`extent`); None if none did, or another one has put it back."""
        self._manager = manager
        self._requested = asyncio.Event()
        self._retry = Retry(Clock())
        self._most_enforced = extent(running.policy)  # since the start
        self._running = running
        self._sha256 = sha256_of(running)
        self._seen = source.tried
        self._source = source
        self._succeeded_s = Clock().now_ms() / 1000
        self._was_successful = True

    def reload_now(self) -> None:
        """Reload whether or not the file has changed (SIGHUP)."""
        self._requested.set()

    async def run(self) -> None:
        while True:
            is_requested = await wait_at_most(POLL_INTERVAL_S, self._requested)
            try:
                if is_requested or await self._has_changed():
                    self._retry.forget()
                    self._manager.reloading()
                    await self._reload()
                elif self._retry.is_due and self._seen == self._source.tried:  # it is not being replaced
                    await self._reload()
            except Exception as error:  # such as no thread to be had: the next look may succeed
                _crashed(error)

    async def _has_changed(self) -> bool:
        """True if the file has changed since the last try, and no longer changes. So a half-written file is
        not read, and a file that is missing for a moment while it is replaced does no harm."""
        # In a thread: a file system that hangs must not block clients.
        self._seen, before = await asyncio.to_thread(self._source.state), self._seen
        return self._seen is not None and self._seen == before and self._seen != self._source.tried

    async def _reload(self) -> None:
        self._requested.clear()
        result = await self._result()
        if result is None:
            return
        self._ended[result] += 1
        self._was_successful = result is Result.TAKEN
        if self._was_successful:
            self._succeeded_s = Clock().now_ms() / 1000
        self._manager.reloaded(f"the last reload was {result}")

    async def _result(self) -> Result | None:
        """None if it is rejected for the reason that was told the last time."""
        try:
            new = await asyncio.to_thread(self._source.read)
            change = reloaded(self._running, new)
            sha256 = await asyncio.to_thread(sha256_of, change.config)  # it may fail, so before `_adopt`
            await self._adopt(change)
        except ConfigError as error:
            return self._rejected(str(error).splitlines())
        except (*ENDS_PROCESS, asyncio.CancelledError):
            raise
        except BaseException as error:
            # An error in one part, or in code of a rule, must not stop the data path.
            return self._rejected(["a mistake in tsproxy; please report the frames"], error)
        self._retry.forget()
        self._took(change.config, sha256)
        CONFIG_RELOADED(changed=list(change.changed))
        if change.needs_restart:
            keys = list(change.needs_restart)
            CONFIG_NEEDS_RESTART(keys=keys, advice="they stay as they are until then")
        return Result.TAKEN

    def _rejected(self, problems: list[str], mistake: BaseException | None = None) -> Result | None:
        if not self._retry.failed((problems, mistake and frames_of(mistake))):
            return None
        if mistake is not None:
            _crashed(mistake)
        CONFIG_NOT_RELOADED(problems=problems, advice=_ADVICE)
        return Result.REJECTED

    def _took(self, config: Config, sha256: str) -> None:
        before, now = extent(self._running.policy), extent(config.policy)
        self._running, self._sha256 = config, sha256
        if now >= self._most_enforced:
            self._most_enforced, self._enforced_until_s = now, None
        elif now < before:
            self._enforced_until_s = Clock().now_ms() / 1000

    def collect(self) -> Iterable[Metric]:
        family = CONFIG_RELOAD.counts()
        for result, count in self._ended.items():
            family.add_metric([result], count)
        yield family
        yield CONFIG_LAST_RELOAD_SUCCESSFUL.levels(self._was_successful)
        yield CONFIG_LAST_RELOAD_SUCCESS.levels(self._succeeded_s)
        info, mode, ended = CONFIG_INFO.levels(), POLICY_MODE.levels(), ENFORCEMENT_ENDED.levels()
        info.add_metric([self._sha256], 1)
        policy = self._running.policy
        mode.add_metric([policy.mode], 1)
        if self._enforced_until_s is not None:
            ended.add_metric([policy.mode, enforced(policy)], self._enforced_until_s)
        yield from (info, mode, ended)


def sha256_of(config: Config) -> str:
    """The hash of a configuration as `/config` shows it, without the sections `OF_MACHINE` and paths."""
    return hashlib.sha256(as_yaml(config.parsed, _is_common).encode()).hexdigest()


def _is_common(keys: Key | SectionKeys) -> bool:
    """True if two proxies must not differ in this."""
    return keys.path not in OF_MACHINE and not (isinstance(keys, Key) and keys.kind.word.startswith("path"))


def _crashed(error: BaseException) -> None:
    CONFIG_RELOAD_CRASHED(error=type(error).__name__, frames=frames_of(error))

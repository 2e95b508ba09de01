"""The parts of one process: `Part`, a row of the list in `server.Proxy`. A feature leaves one row there.

Reload: a part with settings that may change (`Key.is_live`) has `apply`, which cannot fail. Keys that need a
restart never reach a part: `config.reloaded` keeps their old values.

Certificates alone may fail: a file may be unreadable, or a certificate may not fit its key. They are prepared
first, and put into use when nothing can fail any more (`reload.certificates`).
"""

from collections.abc import Callable, Coroutine
from dataclasses import KW_ONLY, dataclass
from typing import Any

from prometheus_client.registry import Collector

from tsproxy.config.settings import Config

Commit = Callable[[], None]
"""Puts prepared settings into use. It cannot fail."""
Sentences = Callable[[], list[str]]


def _none() -> list[str]:
    return []


@dataclass(frozen=True, slots=True)
class Part:
    """The things that one part brings to the process, as far as it has them.

    `row`: where operations.md says what happens if the part fails, or a word for a part of the data path.
    `run`: its task. It runs until all connections are closed. `apply`: use this configuration from now on.
    `warnings`: a sentence for each problem that exists while clients are served. `not_ready`: a sentence for
    each reason why no client should connect now. `metrics`: its own metrics.
    """

    row: str
    _: KW_ONLY
    run: Callable[[], Coroutine[Any, Any, None]] | None = None
    apply: Callable[[Config], None] = lambda _: None
    warnings: Sentences = _none
    not_ready: Sentences = _none
    metrics: Collector | None = None

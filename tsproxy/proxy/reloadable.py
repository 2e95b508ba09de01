"""How the parts of the proxy adopt new settings while it runs.

A part with settings that may change (`Key.is_live`) has one method, `apply`, which cannot fail. Keys that
need a restart never reach a part: `config.reloaded` keeps their old values.

Certificates alone may fail: a file may be unreadable, or a certificate may not fit its key. They are prepared
first, and put into use when nothing can fail any more (`reload.certificates`).
"""

from collections.abc import Callable
from typing import Protocol

from tsproxy.config.settings import Config

Commit = Callable[[], None]
"""Puts prepared settings into use. It cannot fail."""


class Reloadable(Protocol):
    def apply(self, config: Config) -> None:
        """Use this configuration from now on."""

"""How a part of the proxy takes new settings while it runs: prepare, then commit.

A part with settings that may change (`Key.is_live`) has one function, `prepare`. It makes ready what the
new configuration needs, and raises ConfigError if that fails (a certificate that does not fit its key).
Nothing has changed yet. The function that it returns puts the new settings into use and cannot fail. So
all parts are asked first and changed afterwards:

    def prepare(self, config: Config) -> Commit:
        context = server_context(...)          # may raise; nothing has changed
        def commit() -> None:
            self._context = context              # from here on
        return commit

Keys that need a restart never reach a part: `config.reloaded` keeps their old values.
"""

from collections.abc import Callable, Iterable

from tsproxy.config.problems import ConfigError, Problem

Commit = Callable[[], None]
"""Applies the prepared settings. It cannot fail."""


def prepare_all(prepares: Iterable[Callable[[], Commit]]) -> Commit:
    """All of them as one. Raises ConfigError with the problems of all of them."""
    commits: list[Commit] = []
    problems: list[Problem] = []
    for prepare in prepares:
        try:
            commits.append(prepare())
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(*problems)

    def commit() -> None:
        for each in commits:
            each()

    return commit

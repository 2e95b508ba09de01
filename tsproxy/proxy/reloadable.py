"""How a part of the proxy adopts new settings while it runs: prepare, then commit.

A part with settings that may change (`Key.is_live`) has one function, `prepare`. It prepares everything that
the new configuration needs, and raises ConfigError if that fails (a certificate that does not fit its key).
It changes nothing yet. It returns a function that puts the new settings into use and cannot fail. So all
parts prepare first and change afterwards:

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
    """One commit for all parts. Raises ConfigError with the problems of all parts."""
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

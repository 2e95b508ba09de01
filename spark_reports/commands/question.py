"""The producers that `trend` and `what-if` are asked about: those of a team, each as its application."""

import argparse
from collections.abc import Callable
from functools import cache

from spark_reports.exits import UsageError
from spark_reports.report import owners, stored
from spark_reports.report.owners import Owners, OwnersError


def owners_of(options: argparse.Namespace) -> Owners:
    """The owners of `--owners`; none without it. Raises UsageError for a mistake in the file, and for a team
    that it lacks."""
    try:
        path = options.owners
        found = owners.parse(stored.text(path), path) if isinstance(path, str) else path or Owners(())
    except OwnersError as error:
        raise UsageError(str(error)) from error
    teams = dict.fromkeys(entry.team for entry in found.entries)
    if options.team is not None and options.team not in teams:
        raise UsageError(f"--team {options.team!r}: --owners has {', '.join(teams) or 'no team'}")
    of_topics = next((entry.clients.place for entry in found.entries if entry.clients.topics), None)
    if options.team is not None and of_topics is not None:
        raise UsageError(
            f"--team asks about clients, and {of_topics} of --owners has topics: ask by --client"
        )
    return found


def is_asked(options: argparse.Namespace, found: Owners) -> Callable[[str | None, str | None], bool]:
    """Whether the question is about a client, by its id and its principal."""

    @cache
    def asked(client_id: str | None, principal: str | None) -> bool:
        own = {"client_id": client_id, "principal": principal}
        return options.team is None or found.team_of(own) == options.team

    return asked

"""The owners of producers: `--owners FILE` says which team answers for which clients.

    [[owners]]
    team = "Payments"
    channel = "payments@example.com"        # or "https://chat.example.com/payments", or "#payments"
    client_ids = ["checkout", "billing-*"]

    [[owners]]
    team = "Devices"
    principals = ["User:iot-*"]

    [[owners]]
    team = "Orders"
    topics = ["orders", "orders.*"]

A producer belongs to the first entry that fits it. An entry fits if each of its lists fits, and a list fits
if one of its globs fits: `topics` one of the topics to which the rejected, watched or repaired records went.
As in the proxy's policy, no glob of `client_ids` fits a client without an id, and no glob of `principals`
fits a client without a principal. Clients that the proxy counted together as one have no owner.

`[[applications]]` (`name`, `client_ids`) makes one row of several clients (`applications`), which belongs to
the team of one of them. `[[known]]` is a mistake that somebody works at. Until its date the page says it
once, at its foot, if each client of the producer fits:

    [[known]]
    client_ids = ["legacy-*"]
    cause = "behind"                        # or units, ahead, others; without it, whatever the cause is
    until = 2026-12-24
    ticket = "OPS-17"

A first line `help = "https://wiki.example.com/timestamps"` ends each team's text.

The file is TOML, which Python reads itself: a cluster may have no package but pyspark.
"""

import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fnmatch import translate
from operator import itemgetter
from typing import Any, Final

from spark_reports.report import causes, links, words
from spark_reports.report.applications import Application
from spark_reports.report.groups import grouped
from spark_reports.report.headline import rejected_records
from spark_reports.report.shape import Known, Owned, Report, Team
from tsproxy.model.policy import NamePattern

MAX_CLIENTS: Final = 10_000
"""The most clients whose owners are looked up, the worst first. The others are only counted."""

_OF_CLIENTS: Final = ("client_ids", "principals")
_LISTS: Final = (*_OF_CLIENTS, "topics")
_MAX_CHARS: Final = 200
_SHOWN_CHARS: Final = 80

Client = Mapping[str, Any]
"""Anything with `client_id` and `principal`, and for entries with topics `topic` or `topics`."""


class OwnersError(ValueError):
    """All mistakes of the file, one a line: key, value, what is allowed."""


@dataclass(frozen=True, slots=True)
class Clients:
    """The clients of an entry. `place` is the entry's key, such as `owners[0]`."""

    client_ids: tuple[NamePattern, ...]
    principals: tuple[NamePattern, ...]
    topics: tuple[NamePattern, ...]
    place: str = ""

    def fits(self, client: Client) -> bool:
        """Whether it is one of them. An application is asked by one of its instances."""
        client_id = words.true_id(client.get("instance") or client["client_id"])
        topics = client["topics"] if "topics" in client else [client.get("topic")]
        lists = (
            (self.client_ids, [client_id]),
            (self.principals, [client["principal"]]),
            (self.topics, map(words.true_id, topics) if self.topics else ()),
        )
        return all(
            any(pattern.fits(name) for name in names for pattern in patterns)
            for patterns, names in lists
            if patterns
        )


@dataclass(frozen=True, slots=True)
class Owner:
    """An entry `[[owners]]`."""

    team: str
    channel: str | None
    clients: Clients


@dataclass(frozen=True, slots=True)
class KnownMistake:
    """An entry `[[known]]`. `cause` is one of `causes.KINDS`; None for all."""

    clients: Clients
    cause: str | None
    until: date
    ticket: str | None


@dataclass(frozen=True, slots=True)
class Owners:
    """The entries, in the order of the file."""

    entries: tuple[Owner, ...]
    help: str | None = None
    """The end of each team's text: where the owner of a producer finds help."""
    applications: tuple[Application, ...] = ()
    known: tuple[KnownMistake, ...] = ()

    def team_of(self, client: Client) -> str | None:
        """The team of the first entry that fits; None if nobody owns the client."""
        if client["client_id"] == words.FOLDED:
            return None
        return next((entry.team for entry in self.entries if entry.clients.fits(client)), None)

    def known_of(self, client: Client, reasons: Iterable[Client], day: date) -> Known | None:
        """The entry for all instances of a client with rejections (`groups.PRODUCERS`) and all reasons of
        these (`groups.CLIENT_REASONS`) on that day; None if there is none."""
        kinds = {causes.kind_of(why["reason"], why["unit_guess"]) for why in reasons}
        instances = [{**client, "instance": instance} for instance in client["instances"] or [None]]
        for entry in self.known:
            is_of_cause = entry.cause is None or kinds == {entry.cause}
            if is_of_cause and day <= entry.until and all(map(entry.clients.fits, instances)):
                return Known(until=entry.until.isoformat(), ticket=entry.ticket)
        return None

    def channel_of(self, team: str | None) -> str | None:
        """The channel of a team, or None. A team may have several entries; all entries with a channel name
        the same one."""
        return next((entry.channel for entry in self.entries if entry.team == team and entry.channel), None)


def assigned(
    report: Report,
    owners: Owners,
    clients: Sequence[Client],
    watched: Sequence[Client],
    repaired: Sequence[Client],
) -> Report:
    """The report, whose rows have their teams, with its owners. `clients`: the worst ones with rejections,
    with `team`, `records` and `rejected_records`. `watched`, `repaired`: the worst rows of
    `groups.WOULD_REJECT` and `groups.REPAIRED`. Each has at most MAX_CLIENTS."""
    rows = _teams(owners, clients, watched, repaired)
    owned = Owned(
        teams=rows,
        producers_left_out=report["totals"]["producers_affected"] - len(clients),
        rejected_records_left_out=rejected_records(report["totals"]) - _sum(rows, "rejected_records"),
        help=owners.help,
    )
    return {**report, "owners": owned}


def _teams(
    owners: Owners, clients: Sequence[Client], watched: Sequence[Client], repaired: Sequence[Client]
) -> list[Team]:
    """A row for each team of the file, with what became of the records of its clients."""
    rows: dict[str | None, Team] = {}
    by_team = [grouped(listed, itemgetter("team")) for listed in (clients, watched, repaired)]
    for team in (*(entry.team for entry in owners.entries), None):
        lost, counted, fixed = (teams.get(team, []) for teams in by_team)
        behind, enforced = words.far_behind(counted)
        rows[team] = Team(
            team=team,
            channel=owners.channel_of(team),
            producers=len(lost),
            records=_sum(lost, "records"),
            rejected_records=_sum(lost, "rejected_records"),
            would_reject_producers=len(words.clients(enforced)),
            would_reject_records=_sum(enforced, "records"),
            far_behind_records=_sum(behind, "bad_records"),
            repaired_producers=len(words.clients(fixed)),
            repaired_records=_sum(fixed, "records"),
        )
    return sorted(
        rows.values(),
        key=lambda row: (
            *(row["team"] is None, -row["rejected_records"], -row["would_reject_records"]),
            row["team"] or "",
        ),
    )


def _sum(rows: Iterable[Client], name: str) -> int:
    return sum(row[name] for row in rows)


def parse(text: str, name: str) -> Owners:
    """The owners from the text of a TOML file; `name` names it in errors. Raises OwnersError."""
    try:
        root = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise OwnersError(f"{name}: not TOML: {_plain(str(error))}") from None
    problems = _odd_keys(root, "", ("help", *_ENTRIES))
    if not root.keys() & _ENTRIES.keys():
        problems.append("must have at least one table [[owners]]")
    entries, applications, known = (list(_entries(root, name, problems)) for name in _ENTRIES)
    channels: dict[str, Owner] = {}
    for entry in entries:
        first = channels.setdefault(entry.team, entry) if entry.channel else entry
        if first.channel != entry.channel:
            problems.append(
                f"{entry.clients.place}.channel: {_shown(entry.channel or '')} is not the channel that "
                f"{_shown(entry.team)} has in {first.clients.place}; give a team one channel"
            )
    end = _text(root, "help", "", problems)
    if problems:
        raise OwnersError("\n".join(f"{name}: {problem}" for problem in problems))
    return Owners(tuple(entries), end, tuple(applications), tuple(known))


def _entries(root: Mapping[str, object], name: str, problems: list[str]) -> Iterator[Any]:
    """The entries of a kind that have no mistake. The mistakes of the others are added to `problems`."""
    if name not in root:
        return
    listed, (keys, made) = root[name], _ENTRIES[name]
    if not isinstance(listed, list) or not listed:
        problems.append(f"must have at least one table [[{name}]]")
        return
    for number, table in enumerate(listed):
        place = f"{name}[{number}]"
        if not isinstance(table, dict):
            problems.append(f"{place}: must be a table [[{name}]] with {', '.join(keys)}")
            continue
        mistakes = _odd_keys(table, f"{place}.", keys)
        entry = made(table, place, mistakes)
        problems += mistakes
        if not mistakes:
            yield entry


def _odd_keys(section: Mapping[str, object], place: str, known: Sequence[str]) -> list[str]:
    unknown = [key for key in section if key not in known]
    return [f"{place}{_plain(key)}: unknown key; allowed here: {', '.join(known)}" for key in unknown]


def _owner(table: Mapping[str, object], place: str, problems: list[str]) -> Owner:
    if "team" not in table:
        problems.append(f"{place}.team: is missing: the name of the team")
    clients = _clients(table, place, problems)
    team, channel = (_text(table, name, f"{place}.", problems) for name in ("team", "channel"))
    if channel:
        try:
            links.require_channel(channel)
        except ValueError as error:
            problems.append(f"{place}.channel: {_shown(channel)} is not allowed; must be {error}")
    return Owner(team or "", channel, clients)


def _application(table: Mapping[str, object], place: str, problems: list[str]) -> Application:
    if "name" not in table:
        problems.append(f"{place}.name: is missing: the name of the application")
    name = _text(table, "name", f"{place}.", problems) or ""
    if name.startswith(("(", "\\")):  # the words for a client without a name
        problems.append(f"{place}.name: {_shown(name)} is not allowed; must not begin with ( or \\")
    return Application(name, _clients(table, place, problems, _OF_CLIENTS[:1]).client_ids)


def _known(table: Mapping[str, object], place: str, problems: list[str]) -> KnownMistake:
    clients, until = _clients(table, place, problems, _OF_CLIENTS), table.get("until")
    if type(until) is not date:
        problems.append(f"{place}.until: must be a date such as 2026-12-24, without quotes")
    cause, ticket = (_text(table, name, f"{place}.", problems) for name in ("cause", "ticket"))
    if cause is not None and cause not in causes.KINDS:
        problems.append(
            f"{place}.cause: {_shown(cause)} is not allowed; must be one of {', '.join(causes.KINDS)}"
        )
    return KnownMistake(clients, cause, until if isinstance(until, date) else date.min, ticket)


_ENTRIES: Final[Mapping[str, tuple[tuple[str, ...], Callable[..., Any]]]] = {
    "owners": (("team", "channel", *_LISTS), _owner),
    "applications": (("name", "client_ids"), _application),
    "known": ((*_OF_CLIENTS, "cause", "until", "ticket"), _known),
}
"""The kinds of entries: their keys, and an entry of a table. Its mistakes are added to a list; then the entry
must not be used."""


def _clients(
    table: Mapping[str, object], place: str, problems: list[str], names: Sequence[str] = _LISTS
) -> Clients:
    patterns = [
        tuple(_patterns(table[name], f"{place}.{name}", problems)) if name in table else () for name in _LISTS
    ]
    if not any(name in table for name in names):
        problems.append(f"{place}: must have {' or '.join(names)}")
    return Clients(patterns[0], patterns[1], patterns[2], place)


def _text(table: Mapping[str, object], name: str, place: str, problems: list[str]) -> str | None:
    """A text, or None if it is not there."""
    value, key = table.get(name), f"{place}{name}"
    if value is None:
        return None
    if not isinstance(value, str):
        problems.append(f"{key}: must be a text in quotes")
        return ""
    if not value.strip() or not value.isprintable() or len(value) > _MAX_CHARS:
        problems.append(
            f"{key}: {_shown(value)} is not allowed; must be a printable text of 1 to {_MAX_CHARS} characters"
        )
    return value


def _patterns(value: object, key: str, problems: list[str]) -> Iterator[NamePattern]:
    listed = value if isinstance(value, list) else [value]
    if not listed:
        problems.append(f"{key}: must have at least one glob, such as billing-*")
    for glob in listed:
        if not isinstance(glob, str) or not glob:
            problems.append(f"{key}: must be globs in quotes, such as 'billing-*'")
        else:
            yield NamePattern(glob, re.compile(translate(glob)))


def _shown(text: str) -> str:
    return f"'{_plain(text)}'"


def _plain(text: str) -> str:
    return words.short(text, _SHOWN_CHARS)

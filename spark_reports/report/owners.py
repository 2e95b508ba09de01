"""The owners of producers: `--owners FILE` says which team answers for which clients.

    [[owners]]
    team = "Payments"
    channel = "payments@example.com"        # or "https://chat.example.com/payments", or "#payments"
    client_ids = ["checkout", "billing-*"]

    [[owners]]
    team = "Devices"
    principals = ["User:iot-*"]

A client belongs to the first entry that fits it. An entry fits if each of its lists fits, and a list fits if
one of its globs fits. As in the proxy's policy, no glob of `client_ids` fits a client without an id, and no
glob of `principals` fits a client without a principal. Clients that the proxy counted together as one have no
owner.

A first line `help = "https://wiki.example.com/timestamps"` ends each team's text.

The file is TOML, which Python reads itself: a cluster may have no package but pyspark.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import translate
from typing import Any, Final

from spark_reports.log import grouping
from spark_reports.log.grouping import Rows
from spark_reports.report import links, words
from spark_reports.report.headline import details
from spark_reports.report.shape import Producer, Repaired, Report, WouldReject
from spark_reports.report.shape_for_readers import Owned, Team
from tsproxy.model.policy import NamePattern

MAX_CLIENTS: Final = 10_000
"""The most clients whose owners are looked up, the worst first. The others are only counted."""

_TEXTS: Final = ("team", "channel")
_KEYS: Final = (*_TEXTS, "client_ids", "principals")
_MAX_CHARS: Final = 200
_SHOWN_CHARS: Final = 80

Client = Mapping[str, Any]
"""Anything with `client_id` and `principal`."""


class OwnersError(ValueError):
    """All mistakes of the file, one a line: key, value, what is allowed."""


@dataclass(frozen=True, slots=True)
class Owner:
    """An entry of the file. `place` is its key, such as `owners[0]`."""

    team: str
    channel: str | None
    client_ids: tuple[NamePattern, ...]
    principals: tuple[NamePattern, ...]
    place: str = ""

    def fits(self, client: Client) -> bool:
        names = (words.true_id(client["client_id"]), client["principal"])
        lists = zip((self.client_ids, self.principals), names, strict=True)
        return all(any(each.fits(name) for each in patterns) for patterns, name in lists if patterns)


@dataclass(frozen=True, slots=True)
class Owners:
    """The entries, in the order of the file."""

    entries: tuple[Owner, ...]
    help: str | None = None
    """The end of each team's text: where the owner of a producer finds help."""

    def team_of(self, client: Client) -> str | None:
        """The team of the first entry that fits; None if nobody owns the client."""
        if client["client_id"] == words.FOLDED:
            return None
        return next((entry.team for entry in self.entries if entry.fits(client)), None)

    def first_of_each(self, rows: Rows, count: int) -> Rows:
        """The first `count` rows of each team, in their order."""
        owned = [{**row, "team": self.team_of(row)} for row in rows]
        return grouping.first_of(owned, ("team",), count)

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
    """The report with its owners. `clients`: the worst ones with rejections, with `records` and
    `rejected_records`. `watched`, `repaired`: the worst rows of `groups.WOULD_REJECT` and
    `groups.REPAIRED`. Each has at most MAX_CLIENTS."""
    report = with_teams(report, owners)
    rows = _teams(owners, clients, watched, repaired)
    totals = report["totals"]
    rejected = totals["records_rejected"] + totals["records_broker_rejected"]
    found = Owned(
        teams=rows,
        producers_left_out=totals["producers_affected"] - len(clients),
        rejected_records_left_out=rejected - sum(row["rejected_records"] for row in rows),
        help=owners.help,
    )
    rows_of_clients = (report["would_reject"], report["repaired"])
    told = details(totals, report["producers"], report["reasons"], report["trend"], *rows_of_clients)
    return {**report, "details": told, "owners": found}


def with_teams(report: Report, owners: Owners) -> Report:
    """The report with the teams of its clients."""
    producers: list[Producer] = [{**each, "team": owners.team_of(each)} for each in report["producers"]]
    would_reject: list[WouldReject] = [{**row, "team": owners.team_of(row)} for row in report["would_reject"]]
    repaired: list[Repaired] = [{**row, "team": owners.team_of(row)} for row in report["repaired"]]
    return {**report, "producers": producers, "would_reject": would_reject, "repaired": repaired}


def _teams(
    owners: Owners, clients: Sequence[Client], watched: Sequence[Client], repaired: Sequence[Client]
) -> list[Team]:
    """A row for each team of the file, with what became of the records of its clients."""
    sums: dict[str | None, Counter[str]] = {entry.team: Counter() for entry in owners.entries}
    sums[None] = Counter()
    for client in clients:
        own = sums.setdefault(owners.team_of(client), Counter())
        own.update(producers=1, records=client["records"], rejected_records=client["rejected_records"])
    counted: dict[str | None, set[tuple[str | None, str | None]]] = {}
    for row in watched:
        own = sums.setdefault(team := owners.team_of(row), Counter())
        if words.is_far_behind(row):
            own.update(far_behind_records=row["bad_records"])
        else:
            own.update(would_reject_records=row["records"])
            counted.setdefault(team, set()).add((row["client_id"], row["principal"]))
    fixed: dict[str | None, set[tuple[str | None, str | None]]] = {}
    for row in repaired:
        sums.setdefault(team := owners.team_of(row), Counter()).update(repaired_records=row["records"])
        fixed.setdefault(team, set()).add((row["client_id"], row["principal"]))
    rows = [
        Team(
            team=team,
            channel=owners.channel_of(team),
            producers=own["producers"],
            records=own["records"],
            rejected_records=own["rejected_records"],
            would_reject_producers=len(counted.get(team, ())),
            would_reject_records=own["would_reject_records"],
            far_behind_records=own["far_behind_records"],
            repaired_producers=len(fixed.get(team, ())),
            repaired_records=own["repaired_records"],
        )
        for team, own in sums.items()
    ]
    return sorted(
        rows,
        key=lambda row: (
            *(row["team"] is None, -row["rejected_records"], -row["would_reject_records"]),
            row["team"] or "",
        ),
    )


def parse(text: str, name: str) -> Owners:
    """The owners from the text of a TOML file; `name` names it in errors. Raises OwnersError."""
    try:
        root = tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise OwnersError(f"{name}: not TOML: {_plain(str(error))}") from None
    problems = _odd_keys(root, "", ("help", "owners"))
    entries = list(_entries(root.get("owners"), problems))
    channels: dict[str, Owner] = {}
    for entry in entries:
        first = channels.setdefault(entry.team, entry) if entry.channel else entry
        if first.channel != entry.channel:
            problems.append(
                f"{entry.place}.channel: {_shown(entry.channel or '')} is not the channel that "
                f"{_shown(entry.team)} has in {first.place}; give a team one channel"
            )
    end = _text(root["help"], "help", problems) if "help" in root else None
    if problems:
        raise OwnersError("\n".join(f"{name}: {problem}" for problem in problems))
    return Owners(tuple(entries), end)


def _entries(listed: object, problems: list[str]) -> Iterator[Owner]:
    """The entries that have no mistake. The mistakes of the others are added to `problems`."""
    if not isinstance(listed, list) or not listed:
        problems.append("must have at least one table [[owners]]")
        return
    for number, each in enumerate(listed):
        place = f"owners[{number}]"
        if not isinstance(each, dict):
            problems.append(f"{place}: must be a table [[owners]] with {', '.join(_KEYS)}")
            continue
        found = _odd_keys(each, f"{place}.", _KEYS)
        entry = _entry(each, place, found)
        problems += found
        if not found:
            yield entry


def _odd_keys(section: Mapping[str, object], place: str, known: Sequence[str]) -> list[str]:
    unknown = [key for key in section if key not in known]
    return [f"{place}{_plain(key)}: unknown key; allowed here: {', '.join(known)}" for key in unknown]


def _entry(found: Mapping[str, object], place: str, problems: list[str]) -> Owner:
    """An entry. Its mistakes are added to `problems`; then the entry must not be used."""
    if "team" not in found:
        problems.append(f"{place}.team: is missing: the name of the team")
    patterns = {
        name: tuple(_patterns(found[name], f"{place}.{name}", problems)) if name in found else ()
        for name in ("client_ids", "principals")
    }
    if not any(name in found for name in patterns):
        problems.append(f"{place}: must have client_ids, principals or both")
    texts = {name: _text(found[name], f"{place}.{name}", problems) for name in _TEXTS if name in found}
    if channel := texts.get("channel"):
        try:
            links.require_channel(channel)
        except ValueError as error:
            problems.append(f"{place}.channel: {_shown(channel)} is not allowed; must be {error}")
    return Owner(texts.get("team", ""), channel, patterns["client_ids"], patterns["principals"], place)


def _text(value: object, key: str, problems: list[str]) -> str:
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
    for each in listed:
        if not isinstance(each, str) or not each:
            problems.append(f"{key}: must be globs in quotes, such as 'billing-*'")
        else:
            yield NamePattern(each, re.compile(translate(each)))


def _shown(text: str) -> str:
    return f"'{_plain(text)}'"


def _plain(text: str) -> str:
    return words.short(text, _SHOWN_CHARS)

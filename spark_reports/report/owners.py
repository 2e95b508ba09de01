"""The owners of producers: `--owners FILE` says which team answers for which clients.

    owners:
      - team: Payments
        channel: payments@example.com        # or https://chat.example.com/payments, or '#payments'
        client_ids: [checkout, billing-*]
      - team: Devices
        principals: ["User:iot-*"]

A client belongs to the first entry that fits it. An entry fits if each of its lists fits, and a list fits if
one of its globs fits. As in the proxy's policy, no glob of `client_ids` fits a client without an id, and no
glob of `principals` fits a client without a principal. Clients that the proxy counted together as one have no
owner.

The file is YAML, or JSON if its name ends in `.json`: a cluster that has only pyspark reads no YAML.
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import translate
from typing import Any, Final

from spark_reports.report import links, words
from spark_reports.report.shape import Report, WouldReject
from spark_reports.report.shape_for_readers import Owned, Team
from tsproxy.model.policy import NamePattern

MOST_CLIENTS: Final = 10_000
"""The most clients whose owners are looked up, the worst first. The others are only counted."""

_KEYS: Final = ("team", "channel", "client_ids", "principals")
_MOST_CHARS: Final = 200
_SHOWN_CHARS: Final = 80

Client = Mapping[str, Any]
"""Anything with `client_id` and `principal`."""


class OwnersError(ValueError):
    """All mistakes of the file, one a line: place, key, value, what is allowed."""


@dataclass(frozen=True, slots=True)
class Owner:
    """An entry of the file. `place` is `file:line`."""

    team: str
    channel: str | None
    client_ids: tuple[NamePattern, ...]
    principals: tuple[NamePattern, ...]
    place: str = ""

    def fits(self, client: Client) -> bool:
        lists = ((self.client_ids, client["client_id"]), (self.principals, client["principal"]))
        return all(any(each.fits(name) for each in patterns) for patterns, name in lists if patterns)


@dataclass(frozen=True, slots=True)
class Owners:
    """The entries, in the order of the file."""

    entries: tuple[Owner, ...]

    def team_of(self, client: Client) -> str | None:
        """The team of the first entry that fits; None if nobody owns the client."""
        if client["client_id"] == words.FOLDED:
            return None
        return next((entry.team for entry in self.entries if entry.fits(client)), None)

    def channel_of(self, team: str | None) -> str | None:
        """The channel of a team, or None. A team may have several entries; all entries with a channel name
        the same one."""
        return next((entry.channel for entry in self.entries if entry.team == team and entry.channel), None)


def assigned(report: Report, owners: Owners, clients: Sequence[Client]) -> Report:
    """The report with its owners. `clients`: the worst ones with rejections, at most MOST_CLIENTS, with
    `records` and `rejected_records`."""
    would_reject: list[WouldReject] = [{**row, "team": owners.team_of(row)} for row in report["would_reject"]]
    rows = _teams(owners, clients, [row["team"] for row in would_reject])
    totals = report["totals"]
    rejected = totals["records_rejected"] + totals["records_broker_rejected"]
    found = Owned(
        teams=rows,
        producers_left_out=totals["producers_affected"] - len(clients),
        rejected_records_left_out=rejected - sum(row["rejected_records"] for row in rows),
    )
    return {
        **report,
        "producers": [{**each, "team": owners.team_of(each)} for each in report["producers"]],
        "would_reject": would_reject,
        "owners": found,
    }


def _teams(owners: Owners, clients: Sequence[Client], watched: Sequence[str | None]) -> list[Team]:
    """A row for each team of these clients, and of clients whose records were only counted (`watched`)."""
    sums: dict[str | None, Counter[str]] = {team: Counter() for team in (None, *watched)}
    for client in clients:
        own = sums.setdefault(owners.team_of(client), Counter())
        own.update(producers=1, records=client["records"], rejected_records=client["rejected_records"])
    rows = [
        Team(
            team=team,
            channel=owners.channel_of(team),
            producers=own["producers"],
            records=own["records"],
            rejected_records=own["rejected_records"],
        )
        for team, own in sums.items()
    ]
    return sorted(rows, key=lambda row: (row["team"] is None, -row["rejected_records"], row["team"] or ""))


def parse(text: str, name: str) -> Owners:
    """The owners from the text of a file; `name` names it in errors. Raises OwnersError."""
    root = _of_json(text, name) if name.endswith(".json") else _of_yaml(text, name)
    problems: list[str] = []
    entries = list(_entries(root, problems))
    channels: dict[str, Owner] = {}
    for entry in entries:
        first = channels.setdefault(entry.team, entry) if entry.channel else entry
        if first.channel != entry.channel:
            problems.append(
                f"{entry.place}: channel: {_shown(entry.channel or '')} is not the channel that "
                f"{_shown(entry.team)} has in {first.place}; give a team one channel"
            )
    if problems:
        raise OwnersError("\n".join(problems))
    return Owners(tuple(entries))


@dataclass(frozen=True, slots=True)
class Written:
    """A value as written: a text, a list or a mapping; None for anything else."""

    value: "str | list[Written] | dict[str, Written] | None"
    place: str
    repeated: tuple[str, ...] = ()
    """The keys that a mapping has twice."""


def _entries(root: Written, problems: list[str]) -> Iterator[Owner]:
    """The entries that have no mistake. The mistakes of the others are added to `problems`."""
    listed = root.value.get("owners") if isinstance(root.value, dict) else None
    if listed is None or not isinstance(listed.value, list) or not listed.value:
        problems.append(f"{root.place}: must be a mapping with the key owners, a list of at least one entry")
        return
    problems += _odd_keys(root, "", ("owners",))
    for number, each in enumerate(listed.value):
        key = f"owners[{number}]"
        if not isinstance(each.value, dict):
            problems.append(f"{each.place}: {key}: must be a mapping with {', '.join(_KEYS)}")
            continue
        found = _odd_keys(each, f"{key}.", _KEYS)
        entry = _entry(each, each.value, key, found)
        problems += found
        if not found:
            yield entry


def _odd_keys(section: Written, key: str, known: Sequence[str]) -> list[str]:
    """Mistakes in the keys of a mapping."""
    names = section.value if isinstance(section.value, dict) else {}
    unknown = [
        f"{each.place}: {key}{_plain(name)}: unknown key; allowed here: {', '.join(known)}"
        for name, each in names.items()
        if name not in known
    ]
    return [*unknown, *(f"{section.place}: {key}{_plain(name)}: is there twice" for name in section.repeated)]


def _entry(each: Written, found: Mapping[str, Written], key: str, problems: list[str]) -> Owner:
    """An entry. Its mistakes are added to `problems`; then the entry must not be used."""
    if "team" not in found:
        problems.append(f"{each.place}: {key}.team: is missing: the name of the team")
    patterns = {
        name: tuple(_patterns(found[name], f"{key}.{name}", problems)) if name in found else ()
        for name in ("client_ids", "principals")
    }
    if not any(name in found for name in patterns):
        problems.append(f"{each.place}: {key}: must have client_ids, principals or both")
    texts = {
        name: _text(found[name], f"{key}.{name}", problems) for name in ("team", "channel") if name in found
    }
    if channel := texts.get("channel"):
        try:
            links.require_channel(channel)
        except ValueError as error:
            place = found["channel"].place
            problems.append(f"{place}: {key}.channel: {_shown(channel)} is not allowed; must be {error}")
    return Owner(texts.get("team", ""), channel, patterns["client_ids"], patterns["principals"], each.place)


def _text(written: Written, key: str, problems: list[str]) -> str:
    value = written.value
    if not isinstance(value, str):
        problems.append(f"{written.place}: {key}: must be a text; quote it if it has special signs")
        return ""
    if not value.strip() or not value.isprintable() or len(value) > _MOST_CHARS:
        problems.append(
            f"{written.place}: {key}: {_shown(value)} is not allowed; must be a printable text of 1 to "
            f"{_MOST_CHARS} characters"
        )
    return value


def _patterns(written: Written, key: str, problems: list[str]) -> Iterator[NamePattern]:
    listed = written.value if isinstance(written.value, list) else [written]
    if not listed:
        problems.append(f"{written.place}: {key}: must have at least one glob, such as billing-*")
    for each in listed:
        if not isinstance(each.value, str) or not each.value:
            problems.append(f"{each.place}: {key}: must be globs in quotes, such as 'billing-*'")
        else:
            yield NamePattern(each.value, re.compile(translate(each.value)))


def _of_yaml(text: str, name: str) -> Written:
    try:
        import yaml
    except ImportError:
        raise OwnersError(
            f"{name}: needs PyYAML (pip install PyYAML); or write the same as JSON, to a file named *.json"
        ) from None
    try:
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            if isinstance(event, yaml.AliasEvent):
                place = f"{name}:{event.start_mark.line + 1}" if event.start_mark else name
                raise OwnersError(f"{place}: has an alias (*); write the value out, or quote a glob: '*-a'")
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{name}:{mark.line + 1}" if mark else name
        hint = "; quote a glob that begins with *" if "alias" in str(error) else ""
        raise OwnersError(f"{place}: not YAML: {error.problem or error.context}{hint}") from None
    except (yaml.YAMLError, RecursionError) as error:
        raise OwnersError(f"{name}: not YAML: {_plain(str(error))}") from None
    return Written(None, name) if node is None else _of_node(node, name)


def _of_node(node: Any, name: str) -> Written:
    """The value of a node of PyYAML. Numbers, dates and words such as `on` stay texts."""
    place = f"{name}:{node.start_mark.line + 1}"
    match node.id:
        case "sequence":
            return Written([_of_node(each, name) for each in node.value], place)
        case "mapping":
            pairs = [(str(key.value), _of_node(value, name)) for key, value in node.value]
            return _mapping(pairs, place)
        case _:
            return Written(node.value, place)


def _mapping(pairs: Sequence[tuple[str, Written]], place: str) -> Written:
    repeated = [key for key, count in Counter(key for key, _ in pairs).items() if count > 1]
    return Written(dict(pairs), place, tuple(repeated))


def _of_json(text: str, name: str) -> Written:
    """The same from JSON. Its values have no line numbers here, so an error names the place by keys."""

    def written(value: object) -> Written:
        if isinstance(value, Written):
            return value
        if isinstance(value, list):
            return Written([written(each) for each in value], name)
        return Written(value if isinstance(value, str) else None, name)

    try:
        found = json.loads(
            text, object_pairs_hook=lambda pairs: _mapping([(k, written(v)) for k, v in pairs], name)
        )
    except (ValueError, RecursionError) as error:
        raise OwnersError(f"{name}: not JSON: {_plain(str(error))}") from None
    return written(found)


def _shown(text: str) -> str:
    return f"'{_plain(text)}'"


def _plain(text: str) -> str:
    return words.short(text, _SHOWN_CHARS)

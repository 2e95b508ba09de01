"""Compares the answers to producers, the log and the decision log. All counts must be 0."""

import json
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass, field

FORBIDDEN = ":forbidden"
UNNAMED_TOPIC = "id:"
ENDS_BY_ITSELF = ("accepted", "unconfirmed")
AGAIN = "to be sent again"


@dataclass
class Verdict:
    lost: int = 0
    """Acknowledged with acks=all, or committed, and not in the log."""
    doubled: int = 0
    """Stored twice by one producer epoch."""
    doubled_clean: int = 0
    """Stored again in another epoch by an idempotent client that was never rejected, and had not given up the
    epoch before."""
    forbidden: int = 0
    """Forbidden and stored."""
    torn: int = 0
    """Transactions that are visible in part, aborted and visible, or committed and not."""
    invented: int = 0
    """Accepted in the decision log, and not in the log, although nobody sent anything again."""
    unnamed: int = 0
    """Stored and in no line of the decision log, although no process ended without its last line."""
    leaked: int = 0
    """Secrets in a log or in the decision log."""
    fallen: int = 0
    """Totals that fell while the supervisor lived."""
    unread: int = 0
    """Acknowledged, and not read by a client that reads its own records."""
    over_limit: int = 0
    """Connections of one address beyond `limits.connections_per_address`."""
    examples: list = field(default_factory=list)

    @property
    def is_clean(self):
        return not any(count for name, count in asdict(self).items() if name != "examples")

    def add(self, name, count, example):
        if count:
            setattr(self, name, getattr(self, name) + count)
            self.examples.append(f"{name}: {example}")


def judge(told, log, lines, topic, *, counts_are_exact):
    """Compare. With `counts_are_exact` no client has sent anything again that was stored."""
    verdict = Verdict()
    for each in told:
        _judge_client(each, log, verdict)
        for values, outcome in each.transactions:
            _judge_transaction(values, outcome, log, verdict)
    for value, producers in log.by_value.items():
        if value.endswith(FORBIDDEN):
            verdict.add("forbidden", len(producers), value)
    _judge_decisions(told, log, lines, topic, verdict, counts_are_exact=counts_are_exact)
    return verdict


def _judge_client(told, log, verdict):
    if told.acks == "all":
        for value in told.acknowledged:
            verdict.add("lost", value not in log.by_value, value)
    for value in told.unread:
        verdict.add("unread", 1, value)
    if not told.is_idempotent:
        return
    for value in told.sent:
        verdict.add("doubled", log.doubled(value), value)
        if not told.has_forbidden and not told.transactions:
            verdict.add("doubled_clean", log.in_more_epochs(value, told.given_up), value)


def _judge_transaction(values, outcome, log, verdict):
    seen = [log.committed[value] for value in values]
    is_whole = set(seen) <= {0} or set(seen) <= {1}
    expected = {"committed": {1}, "aborted": {0}}.get(outcome, {0, 1})
    verdict.add("torn", not is_whole or not set(seen) <= expected, f"{values[0]} {outcome} {seen}")


def _judge_decisions(told, log, lines, topic, verdict, *, counts_are_exact):
    """Sums by client. Records that a client may lose by itself (acks below all) are left out of `invented`.

    A topic that a request names by id has no name yet in a proxy that has just started, and a line may say
    `id:` and the id. No other topic is written to."""
    booked = Counter()
    for line in lines:
        if line["event"] == "counters" and (
            line["topic"] == topic or line["topic"].startswith(UNNAMED_TOPIC)
        ):
            booked[line["client_id"], line["verdict"] if line["is_final"] else AGAIN] += line["records"]
    has_gap = names_a_gap(lines)
    for each in told:
        stored = sum(len(log.by_value[value]) for value in each.sent if value in log.by_value)
        accepted, unconfirmed = (booked[each.client, verdict_word] for verdict_word in ENDS_BY_ITSELF)
        if counts_are_exact and each.acks == "all":
            verdict.add("invented", max(0, accepted - stored), f"{each.client}: {accepted} > {stored}")
        if not has_gap:
            # A leader that resigns may have stored what it answers with NOT_LEADER_OR_FOLLOWER.
            again = booked[each.client, AGAIN]
            missing = max(0, stored - accepted - unconfirmed - again)
            verdict.add("unnamed", missing, f"{each.client}: {stored} > {accepted} + {unconfirmed} + {again}")


def names_a_gap(lines):
    """Whether the lines themselves show that some are missing: a number is left out, the writer dropped some,
    or a process has no last line, which a report calls silent."""
    numbers, stopped = defaultdict(set), set()
    for line in lines:
        numbers[line["boot"]].add(line["seq"])
        if line["event"] == "lifecycle" and line["kind"] == "stop":
            stopped.add(line["boot"])
    return (
        any(max(seen) + 1 > len(seen) for seen in numbers.values())
        or any(line.get("lines_dropped") for line in lines)
        or numbers.keys() > stopped
    )


def read_decisions(folder):
    """Every whole line of the decision log. A killed process may leave half a line at its end."""
    lines = []
    for file in sorted(folder.glob("*.jsonl*")):
        for text in file.read_text(errors="replace").splitlines():
            try:
                lines.append(json.loads(text))
            except ValueError:
                continue
    return lines

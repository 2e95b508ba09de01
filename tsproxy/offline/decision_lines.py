"""A line of the decision log as text for people. Pure.

Readers ignore fields and events that they do not know (decision-log.md). An unknown event is shown by
its name.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from tsproxy.decisions.fields import EventName
from tsproxy.decisions.text import bounded
from tsproxy.model.words import many
from tsproxy.offline.words import span

Line = Mapping[str, Any]


def is_for_people(line: Line) -> bool:
    """False for counters and heartbeats, which are for reports."""
    return line.get("event") not in (EventName.COUNTERS, EventName.HEARTBEAT)


def in_words(line: Line) -> str:
    """One line as text. It is printable, whatever a client called itself."""
    event = str(line.get("event"))
    render = _RENDERERS.get(event)
    return bounded(f"{line.get('ts', 'no time')}  {render(line) if render else event}", 1_000)


def _decision(line: Line) -> str:
    verdict = "would be rejected" if line.get("would_reject") else line.get("verdict", "?")
    who = ", ".join(str(line[name]) for name in ("client_id", "principal", "client_address") if name in line)
    text = f"{verdict}  {line.get('topic')}-{line.get('partition')}  {who or 'nobody named'}  {_why(line)}"
    if suppressed := line.get("suppressed"):
        text += f"; {suppressed:,} like it were not written"
    return text


def _why(line: Line) -> str:
    """`3 of 20 records too_far_ahead (56 years ahead, looks like microseconds), rule payments`."""
    records = many(line.get("records", 0), "record")
    why = f"{line.get('bad_records', 0):,} of {records} {line.get('reason', '')}"
    seen = [_drift(line)]
    if unit := line.get("unit_guess"):
        seen.append(f"unit {unit}")
    if seen := [each for each in seen if each]:
        why += f" ({', '.join(seen)})"
    return why + "".join(f", {name} {line[name]}" for name in ("rule", "waiver") if name in line)


def _drift(line: Line) -> str:
    """The side on which the records are out of range, and the distance of the farthest one."""
    lowest, highest = line.get("drift_min_ms"), line.get("drift_max_ms")
    if lowest is None or highest is None:
        return ""
    return f"{span(highest)} ahead" if highest > -lowest else f"{span(-lowest)} behind"


def _counters(line: Line) -> str:
    who = line.get("client_id", "nobody named")
    batches = many(line.get("batches", 0), "batch", "batches")
    counts = f"{many(line.get('records', 0), 'record')} in {batches}"
    verdict = f"{line.get('verdict')} {line.get('reason', '')}".rstrip()
    return f"counted  {line.get('topic')}  {who}  {counts} {verdict}"


def _heartbeat(line: Line) -> str:
    keys = many(line["keys"], "key")
    return f"heartbeat  {keys}, lines {line.get('seq_first')} to {line.get('seq_last')}"


def _lifecycle(line: Line) -> str:
    known = {"ts", "event", "v", "proxy", "boot", "seq", "cluster_id", "kind", "facts"}
    facts = {name: value for name, value in line.items() if name not in known} | line.get("facts", {})
    text = "  ".join(f"{name}={value}" for name, value in facts.items())
    return f"{line.get('kind', '?')}  of {line.get('proxy')}  {text}".rstrip()


_RENDERERS: Final[Mapping[str, Callable[[Line], str]]] = {
    EventName.DECISION: _decision,
    EventName.COUNTERS: _counters,
    EventName.HEARTBEAT: _heartbeat,
    EventName.LIFECYCLE: _lifecycle,
}

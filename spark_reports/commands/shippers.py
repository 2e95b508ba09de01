"""The option of each shipper that leaves a line of the log alone, and the look of a line without it.

docs/guide/ship-the-log.md shows the table. `doctor` names the rows that fit a line as it came.
"""

import re
from dataclasses import dataclass
from typing import Final

_DATE: Final = r"(?:\d{4}-\d\d-\d\dT\S+|[A-Z][a-z]{2} [ \d]\d [\d:]{8})"
_PACKED: Final = re.compile(r"\((?:gzip|zstandard)\) ")
"""The second reading writes this before a line of a packed file."""


@dataclass(frozen=True, slots=True)
class Shipper:
    """A shipper, or a tool on the way. The texts are Markdown."""

    name: str
    whole_with: str
    by_default: str
    beginning: str | None = None
    """A regular expression for the beginning of a line that its default has changed; None if nothing shows
    it."""


SHIPPERS: Final = (
    Shipper(
        "Vector",
        "`encoding.codec: text` in the sink",
        "is in `message`",
        r'\{(?:"file": ?"[^"]*", ?)?(?:"host": ?"[^"]*", ?)?"message": ?"\{',
    ),
    Shipper(
        "Fluent Bit",
        "`file`: `format template`, `template {log}`; `s3`: `log_key log`; `kafka`: `raw_log_key log`",
        "is in `log`",
        r'\{"date":[\d.]+,"log":|[^ {]+: \[[\d.]+, \{',
    ),
    Shipper(
        "Filebeat",
        "`codec.format.string: '%{[message]}'` in the output",
        "is in `message`",
        r'\{.*"@metadata":\{"beat":',
    ),
    Shipper(
        "Promtail, Alloy",
        "no stage `pack`; then `logcli query --output=raw --limit=0 …`",
        "`pack`: in `_entry`; `--output=jsonl`: in `line`",
        r'\{"_entry":|\{"labels":\{.*"line":',
    ),
    Shipper(
        "OpenTelemetry Collector",
        "`awss3`: `marshaler: body`; `file`, `kafka`: `encoding: text_encoding`, with this extension. `raw` "
        "quotes the line",
        "many lines in one, at `resourceLogs…body`",
        r'\{"resourceLogs":',
    ),
    Shipper(
        "Logstash",
        '`codec => line { format => "%{message}" }` in the output; `kafka`: `plain` for `line`',
        "is in `message` and `event.original`",
        r'\{.*"@version":',
    ),
    Shipper(
        "rsyslog",
        '`template="line"` in the action, after `template(name="line" type="string" string="%msg%\\n")`; '
        '`global(maxMessageSize="64k")`',
        "follows date and host",
        rf'(?:<\d+>)?(?:1 )?{_DATE} (?!std(?:out|err) )\S+ [^{{]*\{{|\{{"@timestamp":"[^"]*", "host":',
    ),
    Shipper(
        "journald",
        "`journalctl -o cat`. The unit's `LineMax` is 48 KiB, a longer line is cut",
        "is in `MESSAGE`, or follows date and host",
        rf'\{{.*"(?:__CURSOR|MESSAGE)":|{_DATE} \S+ [^ {{]+: \{{',
    ),
    Shipper(
        "Docker, CRI",
        "`docker logs`, `kubectl logs`; the files themselves wrap",
        "is in `log`, or follows date and stream",
        rf'\{{"log":"\{{|{_DATE} std(?:out|err) F ',
    ),
    Shipper(
        "Kafka Connect, Confluent's sink",
        "`ByteArrayConverter` and `ByteArrayFormat`",
        "is a quoted string, or base64",
        r'"eyJ|"\{\\"',
    ),
    Shipper(
        "Kafka Connect, Aiven's sink",
        "`ByteArrayConverter`, `csv` and `encoding=none`",
        "is in `value`, or base64 in gzip",
        r'eyJ|\{"value":',
    ),
    Shipper(
        "Firehose",
        "the processor `AppendDelimiterToRecord`",
        "lines are joined: only the first of each row is read",
    ),
    Shipper("jq, Node.js, Lua", "jq 1.7; do not parse the line", "integers beyond 2^53 change"),
)


def that_fit(line: str) -> list[Shipper]:
    """The shippers whose default leaves a line with this beginning."""
    text = _PACKED.sub("", line, count=1) if _PACKED.match(line) else line
    return [
        shipper
        for shipper in SHIPPERS
        if shipper.beginning is not None and re.match(shipper.beginning, text, re.DOTALL)
    ]


def as_table() -> str:
    """The table of the page."""
    rows = [
        ("shipper", "the line stays whole with", "its default"),
        ("---", "---", "---"),
        *((shipper.name, shipper.whole_with, shipper.by_default) for shipper in SHIPPERS),
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)

"""The option of each shipper that leaves a line of the log alone, and the look of a line without it.

docs/guide/ship-the-log.md has them with their defaults. `doctor` names those that fit a line as it came.
"""

import re
from dataclasses import dataclass
from typing import Final

_DATE: Final = r"(?:\d{4}-\d\d-\d\dT\S+|[A-Z][a-z]{2} [ \d]\d [\d:]{8})"


@dataclass(frozen=True, slots=True)
class Shipper:
    """A shipper whose default shows in the line. The texts are Markdown."""

    name: str
    whole_with: str
    beginning: str
    """A regular expression for the beginning of a line that its default has changed."""


SHIPPERS: Final = (
    Shipper(
        "Vector",
        "`encoding.codec: text` in the sink",
        r'\{(?:"file": ?"[^"]*", ?)?(?:"host": ?"[^"]*", ?)?"message": ?"\{',
    ),
    Shipper(
        "Fluent Bit",
        "`file`: `format template`, `template {log}`; `s3`: `log_key log`; `kafka`: `raw_log_key log`",
        r'\{"date":[\d.]+,"log":|[^ {]+: \[[\d.]+, \{',
    ),
    Shipper(
        "Filebeat",
        "`codec.format.string: '%{[message]}'` in the output",
        r'\{.*"@metadata":\{"beat":',
    ),
    Shipper(
        "Promtail, Alloy",
        "no stage `pack`; then `logcli query --output=raw --limit=0 …`",
        r'\{"_entry":|\{"labels":\{.*"line":',
    ),
    Shipper(
        "OpenTelemetry Collector",
        "`awss3`: `marshaler: body`; `file`, `kafka`: `encoding: text_encoding`, with this extension. `raw` "
        "quotes the line",
        r'\{"resourceLogs":',
    ),
    Shipper(
        "Logstash",
        '`codec => line { format => "%{message}" }` in the output; `kafka`: `plain` for `line`',
        r'\{.*"@version":',
    ),
    Shipper(
        "rsyslog",
        '`template="line"` in the action, after `template(name="line" type="string" string="%msg%\\n")`; '
        '`global(maxMessageSize="64k")`',
        rf'(?:<\d+>)?(?:1 )?{_DATE} (?!std(?:out|err) )\S+ [^{{]*\{{|\{{"@timestamp":"[^"]*", "host":',
    ),
    Shipper(
        "journald",
        "`journalctl -o cat`. The unit's `LineMax` is 48 KiB, a longer line is cut",
        rf'\{{.*"(?:__CURSOR|MESSAGE)":|{_DATE} \S+ [^ {{]+: \{{',
    ),
    Shipper(
        "Docker, CRI",
        "`docker logs`, `kubectl logs`; the files themselves wrap",
        rf'\{{"log":"\{{|{_DATE} std(?:out|err) F ',
    ),
    Shipper(
        "Kafka Connect, Confluent's sink",
        "`ByteArrayConverter` and `ByteArrayFormat`",
        r'"eyJ|"\{\\"',
    ),
    Shipper(
        "Kafka Connect, Aiven's sink",
        "`ByteArrayConverter`, `csv` and `encoding=none`",
        r'eyJ|\{"value":',
    ),
)


def that_fit(line: str) -> list[Shipper]:
    """The shippers whose default leaves a line with this beginning."""
    # The second reading writes this before a line of a packed file.
    text = re.sub(r"^\((?:gzip|zstandard)\) ", "", line)
    return [shipper for shipper in SHIPPERS if re.match(shipper.beginning, text, re.DOTALL)]

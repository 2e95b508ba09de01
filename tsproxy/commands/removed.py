"""Commands and options that were given up, and the advice for those who still use one."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

REMOVED: Final[Mapping[str, str]] = MappingProxyType(
    {
        "health": "ask /livez or /readyz of the admin port, as curl -f http://127.0.0.1:9464/livez does",
        "replay": "run a proxy with policy.mode=audit and ask its decision log (spark_reports what-if); "
        "tsproxy scan finds what a topic holds already",
        "decisions": "jq reads the lines of the log; python -m tsproxy.decisions json prints their schema",
        "explain --max-decompressed": "explain is about timestamps alone; brokers judge the size of a record",
        "explain --record-bytes": "explain is about timestamps alone; brokers judge the size of a record",
        "explain --newest": "the newest timestamp of a partition plays no part in any verdict",
    }
)
"""A command, or a command and its option (`run --option`) -> what to do instead."""

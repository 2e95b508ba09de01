"""Nouns to lines: the decision log, the only thing the Spark reports know of the proxy.

Pure and standard library only: no I/O, no clock, no logging; a Spark driver imports it.
`fields` is the one definition of the schema, `schema` what is made from it (JSON Schema, Spark DDL,
the table of docs/decision-log.md), `events` turns outcomes into plain dicts, `ledger` counts,
`lines` puts off the making of many, `examples` keeps examples few, `privacy` says what of a person is
written, `drift` has the histogram's published edges, `text` bounds what clients may write into a line.

What a shell needs is one class; every line it returns is a dict that is finished and ready to be encoded:

    log = DecisionLog(proxy, boot, now_ms)
    log.lifecycle(LifecycleKind.START, now_ms, facts)   one line
    log.book(outcome)                                   lines, mostly none
    log.tick(now_ms, writer_health)                     lines when an interval is over
    log.stop(now_ms, writer_health)                     the last lines

Non-goals: no encoding to bytes, no files (that is `proxy`); no record keys, values or headers.
"""

from tsproxy.decisions.fields import EventName, LifecycleKind
from tsproxy.decisions.lines import Lines
from tsproxy.decisions.log import DecisionLog, WriterHealth
from tsproxy.decisions.privacy import Privacy, Shown

__all__ = ["DecisionLog", "EventName", "LifecycleKind", "Lines", "Privacy", "Shown", "WriterHealth"]

"""The lines of the decision log, made from outcomes. The Spark reports know the proxy by this log alone.

The package is pure: no I/O, no clock, no logging. It needs only the standard library, because a Spark
driver imports it. `fields` is the one definition of the schema.

The proxy needs only one class. Every line that it returns is a complete dict, ready to be encoded:

    log = DecisionLog(proxy, boot, now_ms)
    log.lifecycle(LifecycleKind.START, now_ms, facts)   one line
    log.book(Totals.of(outcome))                        usually no lines
    log.tick(now_ms, writer_health)                     lines at the end of an interval
    log.stop(now_ms, writer_health)                     the last lines

Non-goals: encoding to bytes and files (`proxy` does both); record keys, values and headers.
"""

from tsproxy.decisions.events import Lines
from tsproxy.decisions.fields import EventName, LifecycleKind
from tsproxy.decisions.log import DecisionLog, WriterHealth
from tsproxy.decisions.privacy import Privacy, Redaction

__all__ = ["DecisionLog", "EventName", "LifecycleKind", "Lines", "Privacy", "Redaction", "WriterHealth"]

"""Metrics of the decision log and of dead letters."""

from typing import Final

from tsproxy.proxy.metrics.described import Joined, counter_row, gauge_row

TITLE: Final = "Decision log and dead letters"

_DEAD_LETTERS: Final = "from the start, with `dead_letters`"

DECISIONS: Final = counter_row(
    "tsproxy_decisions_total",
    "lines",
    "Lines written to the decision log",
    "No increase for several intervals: nothing is logged, not even heartbeats.",
)
DECISIONS_DROPPED: Final = counter_row(
    "tsproxy_decisions_dropped_total",
    "lines",
    "Lines that did not reach the decision log",
    "Alert on any increase: the disk is full or slow. Reports will say that they are incomplete.",
)
DECISION_LOG_WRITABLE: Final = gauge_row(
    "tsproxy_decision_log_writable",
    "0 or 1",
    "1 while lines reach the files of the decision log",
    "Alert on 0: the disk is full, or the folder cannot be written.",
    joined=Joined.LOWEST,
)
DECISION_FILES_DELETED: Final = counter_row(
    "tsproxy_decision_files_deleted_total",
    "files",
    "Files of the decision log that were deleted because of age or size",
    "Make sure that reports are made before files are deleted (`decisions.retention`).",
)
DECISION_TOPIC_UP: Final = gauge_row(
    "tsproxy_decision_topic_up",
    "0 or 1",
    "1 while the decision log's topic accepts lines",
    "Alert on 0: the files keep the lines that the topic misses, for as long as `decisions.retention`.",
    appear="from the start, with `decisions.topic`",
    joined=Joined.LOWEST,
)
DECISION_TOPIC_SENT: Final = counter_row(
    "tsproxy_decision_topic_sent_total",
    "lines",
    "Lines that the decision log's topic has accepted",
    "Should grow with `tsproxy_decisions_total`.",
    appear="from the start, with `decisions.topic`",
)
DEAD_LETTERS: Final = counter_row(
    "tsproxy_dead_letters_total",
    "records",
    "Dead letters that their topic has accepted",
    "The copies of rejected records.",
    appear=_DEAD_LETTERS,
)
DEAD_LETTERS_LOST: Final = counter_row(
    "tsproxy_dead_letters_lost_total",
    "records",
    "Rejected records without a dead letter",
    "[policy.md](../guide/policy.md#dead-letters) explains each reason.",
    ("reason",),
    appear=_DEAD_LETTERS,
)
DEAD_LETTERS_WAITING: Final = gauge_row(
    "tsproxy_dead_letters_waiting",
    "records",
    "Rejected records that wait to be copied to the dead letter topic",
    "Grows: the topic is slow or does not accept them. Only a limited number waits, the rest is lost.",
    appear=_DEAD_LETTERS,
    joined=Joined.SUM,
)
DEAD_LETTERS_UP: Final = gauge_row(
    "tsproxy_dead_letters_up",
    "0 or 1",
    "1 while the dead letter topic accepts dead letters",
    "Alert on 0: `dead_letters_failed` in the log says why.",
    appear=_DEAD_LETTERS,
    joined=Joined.LOWEST,
)

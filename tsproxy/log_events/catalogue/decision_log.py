"""Events of the decision log."""

from typing import Final

from tsproxy.log_events.event import crashed, error, info, warning

TITLE: Final = "The decision log"

DECISION_LOG_STOPPED: Final = error(
    "decision_log_stopped",
    ("error", "lines_lost"),
    "The disk is full, or the folder is gone. Lines wait in memory, and clients are served.",
    "Make room. The proxy tries again every second.",
)
DECISION_LOG_RESUMED: Final = info(
    "decision_log_resumed",
    ("lines_lost",),
    "Lines are written again.",
    "Nothing. If `lines_lost` is above 0, the report names the gap.",
)
DECISION_LINES_LOST: Final = error(
    "decision_lines_lost",
    ("lines_lost",),
    "The queue was full, and lines were dropped.",
    "Make room. The report names the gap.",
)
DECISION_LOG_CRASHED: Final = crashed(
    "decision_log_crashed", "An error in our code. Its lines are lost, and the report names the gap."
)
DECISION_FILE_RECOVERED: Final = warning(
    "decision_file_recovered",
    ("file", "bytes_kept", "bytes_cut"),
    "The file of a process that was killed was closed after its last whole line.",
    "Nothing. The report says that the process was killed. Dead letters that waited in it are lost "
    "(`dead_letters_lost`).",
)
DECISION_FILE_NOT_CLOSED: Final = error(
    "decision_file_not_closed",
    ("file", "error"),
    "A file could not be closed under its final name.",
    "Look at the folder and its permissions.",
)
DECISION_FILE_REMOVED: Final = error(
    "decision_file_removed",
    ("file", "bytes_lost"),
    "Somebody removed the file that was being written, or its disk was unmounted or is back.",
    "Let nothing but `decisions.retention` delete files that end in `.open`. Look for lines in the folder "
    "below the disk.",
)
DECISION_FILES_DELETED: Final = info(
    "decision_files_deleted",
    ("files", "bytes"),
    "`decisions.retention` deleted old files.",
    "Nothing. Ship files before they are that old.",
)
DECISION_FILES_NOT_DELETED: Final = error(
    "decision_files_not_deleted",
    ("directory", "error"),
    "Old files could not be deleted.",
    "Look at the folder's permissions.",
)
DECISION_TOPIC_FAILED: Final = error(
    "decision_topic_failed",
    ("error", "topic"),
    "Lines cannot be sent to `decisions.topic`. They stay in the files.",
    "`error` says why: the topic, its ACL, the cluster.",
)
DECISION_TOPIC_RESUMED: Final = info("decision_topic_resumed", ("topic",), "Lines are sent again.")
DECISION_NOT_SENT: Final = error(
    "decision_not_sent",
    ("error", "bytes"),
    "One line is too large for the topic, or was rejected for good. It is in the files.",
    "Raise the topic's `max.message.bytes`.",
)
DECISIONS_LEFT_UNSENT: Final = warning(
    "decisions_left_unsent",
    ("advice",),
    "The proxy stopped with unsent lines.",
    "Nothing. The next start in this folder sends them.",
)

"""Events of dead letters."""

from typing import Final

from tsproxy.log_events.event import error, info, warning

TITLE: Final = "Dead letters"

DEAD_LETTERS_FAILED: Final = error(
    "dead_letters_failed",
    ("error", "topic"),
    "Copies of rejected records cannot be written to `dead_letters.topic`.",
    "`error` says why. Copies wait up to `dead_letters.max_in_flight`.",
)
DEAD_LETTERS_RESUMED: Final = info("dead_letters_resumed", ("topic",), "Copies are written again.")
DEAD_LETTERS_LOST: Final = warning(
    "dead_letters_lost",
    ("records", "since", "advice"),
    "Copies were dropped. `records` has the number by cause. `killed`: they waited in a process that was "
    "killed before this one started. No rejection from `since` on was copied.",
    "Find the cause in the lines before; raise `dead_letters.max_in_flight` if the topic is only slow.",
)

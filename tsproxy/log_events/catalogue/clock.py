"""Events of the proxy's clock."""

from typing import Final

from tsproxy.log_events.event import crashed, error, info, warning

TITLE: Final = "The clock"

CLOCK_OFFSET_BEYOND: Final = error(
    "clock_offset_beyond",
    ("offset_ms", "error_ms", "max_offset_ms", "enforced"),
    "The proxy's clock is further from the brokers' than `clock.max_offset`. With `when_beyond: audit` and "
    "`clock.probe` nothing is enforced now (`enforced`).",
    "Repair time synchronization on this machine.",
)
CLOCK_OFFSET_WITHIN: Final = info(
    "clock_offset_within", ("offset_ms", "error_ms", "max_offset_ms", "enforced"), "The clock is right again."
)
CLOCK_NOT_SYNCHRONISED: Final = info(
    "clock_not_synchronised",
    ("text",),
    "The kernel says that nothing keeps this machine's clock right. In a virtual machine or a container the "
    "host may.",
    "See that this machine or its host runs a time service.",
)
CLOCK_SUSPECTED: Final = warning(
    "clock_suspected",
    ("by", "text"),
    "Times that brokers assign (`by: brokers`) contradict this clock, or it was set by more than "
    "`clock.max_offset` and no broker's time confirms that (`by: step`).",
    "Compare it with another machine's.",
)
CLOCK_SUSPICION_ENDED: Final = info("clock_suspicion_ended", ("by",), "The suspicion is over.")
CLOCK_STEPPED: Final = warning(
    "clock_stepped",
    ("by_ms",),
    "This machine's clock jumped by `by_ms`.",
    "Let the time service slew instead of step.",
)
BROKER_CLOCK_DIFFERS: Final = warning(
    "broker_clock_differs",
    ("node_id", "offset_ms", "error_ms"),
    "One broker's clock differs from this one, and most brokers' do not. `error_ms` is the possible error of"
    " `offset_ms`.",
    "Repair that broker's clock: it rejects by it.",
)
CLOCK_NOT_MEASURED: Final = error(
    "clock_not_measured",
    ("error",),
    "The probe of `clock.probe` could not write.",
    "`error` says why: the topic is missing, has no LogAppendTime, or the user may not write.",
)
CLOCK_LISTENING_CRASHED: Final = crashed(
    "clock_listening_crashed", "An error in our code while the clocks were compared."
)

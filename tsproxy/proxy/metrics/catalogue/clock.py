"""Metrics of the proxy's clock."""

from typing import Final

from tsproxy.proxy.metrics.described import FROM_START, Joined, counter_row, gauge_row

TITLE: Final = "The clock"

CLOCK_SUSPECTED: Final = gauge_row(
    "tsproxy_clock_suspected",
    "0 or 1",
    "1 while the operating system's kernel, the brokers, or a step that no broker confirms contradict the "
    "proxy's clock",
    'Alert on 1 with `by="brokers"`: check NTP on this machine. A slow clock rejects good records '
    "([policy.md](../guide/policy.md#the-proxys-clock)).",
    ("by",),
    appear=FROM_START,
    joined=Joined.HIGHEST,
)
CLOCK_OFFSET: Final = gauge_row(
    "tsproxy_clock_offset_seconds",
    "seconds",
    "The proxy's clock minus a broker's",
    "All brokers differ: this machine's clock is wrong. One differs: that broker's clock is wrong. See its "
    "margin: without [`clock.probe`](../guide/policy.md#the-proxys-clock) that may be 16 s.",
    ("broker",),
    appear="when the broker's clock has been measured",
    joined=Joined.FARTHEST,
)
CLOCK_OFFSET_MARGIN: Final = gauge_row(
    "tsproxy_clock_offset_margin_seconds",
    "seconds",
    "How far the offset to that broker may be from the truth, in both directions",
    "An offset that is smaller than its margin may as well be 0.",
    ("broker",),
    appear="when the broker's clock has been measured",
    joined=Joined.HIGHEST,
)
CLOCK_STEPS: Final = counter_row(
    "tsproxy_clock_steps_total",
    "steps",
    "How often the wall clock was set by a quarter of a second or more",
    "Once after a boot is normal. Again and again: two programs set the clock.",
)
ENFORCEMENT_SUSPENDED: Final = gauge_row(
    "tsproxy_enforcement_suspended",
    "0 or 1",
    "1 while nothing is enforced because of the clock",
    "Alert on 1: correct this machine's clock (`clock.when_beyond: audit`).",
    joined=Joined.HIGHEST,
)

"""Tells once, at the start, where the proxy runs without its native half: it does the same, at more CPU."""

import structlog

from tsproxy.proxy import pipe
from tsproxy.wire import kernel

log = structlog.get_logger()


def tell() -> None:
    """One line where Python does what the native kernel or pipe would do."""
    twins = [name for name, chosen in (("kernel", kernel.NAME), ("pipe", pipe.NAME)) if chosen != "native"]
    if twins:
        log.warning(
            "native_code_missing",
            in_python=twins,
            costs="several times the CPU",
            advice="install from a wheel for this platform, or with a C compiler at hand",
        )

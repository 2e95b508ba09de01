"""Logs once, at the start, that native code is missing. The proxy works without it, but uses more CPU."""

import structlog

from tsproxy import fastpath
from tsproxy.proxy import pipe
from tsproxy.wire import readers

log = structlog.get_logger()


def log_variant() -> None:
    """Log one line if some of the native code is missing."""
    native = {
        "readers": readers.NAME == "native",
        "fastpath": fastpath.IS_AVAILABLE,
        "pipe": pipe.NAME == "native",
    }
    if not all(native.values()):
        log.warning(
            "native_code_missing",
            missing=[name for name, is_native in native.items() if not is_native],
            costs="many times the CPU",
            advice="install from a wheel for this platform, or with a C compiler at hand",
        )

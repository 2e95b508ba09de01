"""Three lines for a person who starts the proxy on a terminal.

They say where the proxy listens, what is enforced, and where decisions go. The log is not changed: it
contains the same facts for programs.
"""

import shlex
import sys
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, TextIO

from tsproxy.config.enforced import enforced, few
from tsproxy.config.settings import BrokerHosts, Config, Listener
from tsproxy.proxy.logging import LogFormat


def show(config: Config, log_format: LogFormat, facts: Mapping[str, Any]) -> None:
    """Print the lines if there is a terminal. `facts` are those of `proxy_started`."""
    stream = _terminal(log_format)
    if stream is not None:
        with suppress(OSError, ValueError):  # the terminal is gone, or cannot show a folder's name
            print(*lines(config, facts), sep="\n", file=stream, flush=True)


def lines(config: Config, facts: Mapping[str, Any]) -> list[str]:
    """The three lines. `facts` has the real addresses, as the configuration may ask for any free port."""
    admin = facts["admin"]
    scheme = "http" if config.admin.tls is None else "https"
    health = "" if admin == "off" else f"; live page and metrics at {scheme}://{admin}/"
    listeners = "; ".join(_listener(listener, facts) for listener in config.listeners)
    folder = facts["decisions"]
    quoted = shlex.quote(folder)
    return [
        f"Clients connect to {listeners}{health}",
        f"Enforced: {enforced(config.policy)}",
        f"Decisions go to {folder}; for a report: spark_reports daily --input {quoted} --output report",
    ]


def _terminal(log_format: LogFormat) -> TextIO | None:
    if log_format is LogFormat.JSON:  # a program reads the log, even on a terminal
        return None
    return next((stream for stream in (sys.stderr, sys.stdout) if stream.isatty()), None)


def _listener(listener: Listener, facts: Mapping[str, Any]) -> str:
    bound = facts["listeners"][listener.name]
    if isinstance(listener.brokers, BrokerHosts):
        return f"{bound}, brokers by name ({listener.brokers})"
    ports = sorted(facts["brokers"][listener.name].values())
    shown = [str(port) for port in ports]
    return f"{bound}, brokers at {'port' if len(ports) == 1 else 'ports'} {few(shown)}"

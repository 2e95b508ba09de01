"""Three lines for a person who starts the proxy on a terminal.

They say where the proxy listens, what is enforced, and where decisions go. The log is not changed: it
contains the same facts for programs.
"""

import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, TextIO

from tsproxy.config.settings import BrokerHosts, Config, Listener
from tsproxy.config.values import bound_text
from tsproxy.model.policy import LimitsFrom, Mode, RuleSettings, TimeLimit
from tsproxy.proxy.logging import LogFormat

NAMES_SHOWN: Final = 3


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
        f"Enforced: {'; '.join(_enforced(config)) or 'nothing'}",
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
    return f"{bound}, brokers at {'port' if len(ports) == 1 else 'ports'} {_few(shown)}"


def _enforced(config: Config) -> Iterator[str]:
    if config.policy.mode is Mode.ENFORCE:
        yield _limits(config)
    modes = ((rule.name, rule.settings.mode or config.policy.mode) for rule in config.policy.rules)
    if names := [name for name, mode in modes if mode is Mode.ENFORCE]:
        yield f"rules: {_few(names)}"


def _limits(config: Config) -> str:
    policy = config.policy
    if policy.limits_from is LimitsFrom.BROKER:
        return "the limits of each topic"
    bounds = _bounds(policy.defaults)
    if policy.limits_from is LimitsFrom.CONFIG:
        return f"the limits of policy.defaults ({bounds})"
    return f"the limits of each topic, or those of policy.defaults ({bounds}) where they are stricter"


def _bounds(settings: RuleSettings) -> str:
    """`before 7d, after 1h`; a side without a limit is left out."""
    sides = (("before", settings.before), ("after", settings.after))
    shown = [f"{side} {bound_text(limit)}" for side, limit in sides if isinstance(limit, TimeLimit)]
    return ", ".join(shown) or "no limit of their own"


def _few(names: Sequence[str]) -> str:
    shown = ", ".join(names[:NAMES_SHOWN])
    return shown if len(names) <= NAMES_SHOWN else f"{shown} and {len(names) - NAMES_SHOWN:,} more"

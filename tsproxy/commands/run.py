"""`tsproxy run`: runs the proxy."""

import argparse
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from typing import Any, Final

from tsproxy.commands.exits import FAILED, MISTAKEN, OK
from tsproxy.config import Document, empty_document, load, put_setting, read_yaml
from tsproxy.config.document import Items, Scalar, Section
from tsproxy.config.source import Source

HELP: Final = "run the proxy"
EXAMPLES: Final = """\
examples:
  tsproxy run --upstream 127.0.0.1:9092 --listen 127.0.0.1:9192
      clients bootstrap at port 9192; broker n is served on port 9193 + n
  tsproxy run --upstream kafka-1:9092,kafka-2:9092 --listen 0.0.0.0:9192 --advertised-host kafka.example.com
  tsproxy run --config tsproxy.yaml --admin off --log-format json
  tsproxy run --config tsproxy.yaml --workers 4

SIGTERM lets running requests finish (limits.drain_timeout); a second one does not wait. With
limits.drain_delay clients are taken for so long before; a second SIGTERM ends that, a third does not wait.
SIGHUP reads the configuration again, as a change of the file does; docs/configuration.md says which
keys take effect then, and which with the next start.
"""

_KEYS: Final = {
    "upstream": "upstream.bootstrap_servers",
    "admin": "admin.bind",
    "decisions": "decisions.directory",
    "log_level": "log.level",
    "workers": "workers",
}
"""The flags with one configuration key each."""


def add(run: argparse.ArgumentParser) -> None:
    run.add_argument("--config", metavar="FILE", type=Path, help="YAML; see docs/configuration.md; flags win")
    run.add_argument("--upstream", metavar="H:P[,H:P]", help="brokers to begin with")
    run.add_argument(
        "--listen", metavar="H:P", help="where clients bootstrap; brokers follow from port P + 1"
    )
    run.add_argument("--advertised-host", metavar="H", help="the host that clients are told, with --listen")
    run.add_argument("--admin", metavar="H:P|off", help="metrics and health (127.0.0.1:9464)")
    run.add_argument("--decisions", metavar="DIR", help="folder of the decision log (tsproxy-decisions)")
    run.add_argument("--workers", metavar="N", help="processes that share the ports (1)")
    run.add_argument("--set", metavar="KEY=VALUE", action="append", default=[], help="any other key")
    run.add_argument("--log-format", choices=("auto", "console", "json"), default="auto")
    run.add_argument("--log-level", metavar="LEVEL", help="debug, info, warning or error (info)")
    run.add_argument("--loop", choices=("auto", "asyncio", "uvloop"), default="auto", help="event loop")
    run.set_defaults(command=lambda options: _run_checked(run, options))


def _run_checked(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    if not options.config and not (options.upstream and options.listen):
        parser.error("needs --upstream and --listen, or --config")
    if options.advertised_host and not options.listen:
        parser.error("--advertised-host goes with --listen; a file has listeners[].advertised_host")
    return _run(options)


def _run(options: argparse.Namespace) -> int:
    # Imported here: `--help`, `check` and `decisions` need neither a loop nor a Kafka client.
    from tsproxy.proxy.logging import LogFormat, configure_logging
    from tsproxy.proxy.loop import LoopName, run
    from tsproxy.proxy.process import serve
    from tsproxy.proxy.service_manager import ServiceManager
    from tsproxy.proxy.startup import StartError
    from tsproxy.proxy.workers.channel import inherited_orders
    from tsproxy.proxy.workers.supervisor import supervise
    from tsproxy.proxy.workers.worker import serve_as_worker

    # Ignored until there is something to reload, since a SIGHUP would end the process. Workers keep ignoring
    # it: the supervisor sends them their orders.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    main: Callable[[], Coroutine[Any, Any, None]]
    worker: int | None = None
    inherited = inherited_orders(os.environ)
    if inherited is not None:
        main = partial(serve_as_worker, *inherited)
        worker, config = inherited[0].number, inherited[0].config
    else:
        source = Source(options.config, lambda: load(_document(options), os.environ))
        config = source.read()
        manager = ServiceManager.of(os.environ)
        main = partial(supervise if config.workers > 1 else serve, config, source, manager)
    configure_logging(LogFormat(options.log_format), worker, config.log_level)
    try:
        run(LoopName(options.loop), main)
    except StartError as error:
        print(f"tsproxy: {error}", file=sys.stderr)
        return FAILED
    except ImportError:
        print("tsproxy: --loop uvloop: uvloop is not installed; pip install uvloop", file=sys.stderr)
        return MISTAKEN
    return OK


def _document(options: argparse.Namespace) -> Document:
    """The file with the flags applied over it, or the flags alone."""
    document = read_yaml(options.config) if options.config else empty_document()
    if options.listen:
        listener = Section("--listen")
        listener.put("bind", Scalar(options.listen, "--listen"))
        if options.advertised_host:
            listener.put("advertised_host", Scalar(options.advertised_host, "--advertised-host"))
        document.root.put("listeners", Items((listener,), "--listen"))
    for name, key in _KEYS.items():
        if text := getattr(options, name):
            put_setting(document, f"{key}={text}", f"--{name.replace('_', '-')}")
    for setting in options.set:
        put_setting(document, setting)
    return document

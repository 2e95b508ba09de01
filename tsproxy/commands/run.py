"""`tsproxy run`: runs the proxy."""

import argparse
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final

from tsproxy.commands.options import add_proxy, proxy_document
from tsproxy.config import ConfigError, load
from tsproxy.config.source import Source
from tsproxy.model.exits import FAILED, MISTAKEN, OK, flush_output

HELP: Final = "run the proxy"
EXAMPLES: Final = """\
examples:
  tsproxy run --upstream 127.0.0.1:9092 --listen 127.0.0.1:9192
      clients bootstrap at port 9192; broker n is served on port 9193 + n
  tsproxy run --upstream kafka-1:9092,kafka-2:9092 --listen 0.0.0.0:9192 --advertised-host kafka.example.com
  tsproxy run --config tsproxy.yaml --admin off --log-format json

SIGTERM stops the proxy when running requests have finished (limits.drain_timeout); a second one stops it at
once. With limits.drain_delay, clients are still accepted for that time; a second SIGTERM ends the delay, a
third stops the proxy. SIGHUP, or a change of the file, reloads the configuration. The page "Configuration"
says which keys need a restart.

Status 1: it cannot run now, also if other files (certificates, secrets) are absent or do not fit; 2: wrong
usage or configuration.
"""


def add(run: argparse.ArgumentParser) -> None:
    add_proxy(run)
    run.add_argument(
        "--log-format",
        choices=("auto", "console", "json"),
        default="auto",
        help="lines to read on a terminal, JSON elsewhere (auto)",
    )
    run.add_argument("--log-level", metavar="LEVEL", help="debug, info, warning or error (info)")
    run.add_argument("--loop", choices=("auto", "asyncio", "uvloop"), default="auto", help="event loop")
    run.set_defaults(command=lambda options: _run_checked(run, options))


def _run_checked(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    if not options.config and not (options.upstream and options.listen):
        parser.error("needs --upstream and --listen, or --config")
    try:
        return _run(parser, options)
    except ConfigError as error:
        if not error.is_of_files:
            raise
        # A start between the two writes of a renewal: whoever starts the proxy again must not give up.
        print(error, file=sys.stderr)
        return FAILED


def _run(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    # Imported here: `--help`, `check` and `decisions` need neither a loop nor a Kafka client.
    from tsproxy.proxy import summary
    from tsproxy.proxy.logging import LogFormat, configure_logging
    from tsproxy.proxy.loop import LoopName, run
    from tsproxy.proxy.process import serve
    from tsproxy.proxy.service_manager import ServiceManager
    from tsproxy.proxy.startup import StartError, keep_freed_memory
    from tsproxy.proxy.workers.channel import inherited_orders
    from tsproxy.proxy.workers.supervisor import supervise
    from tsproxy.proxy.workers.worker import serve_as_worker

    # A SIGHUP is ignored until there is something to reload, since it would end the process. Workers keep
    # ignoring it: the supervisor sends them their orders.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    main: Callable[[], Coroutine[Any, Any, None]]
    worker: int | None = None
    inherited = inherited_orders(os.environ)
    if inherited is not None:
        main = partial(serve_as_worker, *inherited)
        worker, config = inherited[0].number, inherited[0].config
    else:
        source = Source(options.config, lambda: load(proxy_document(parser, options), os.environ))
        config = source.read()
        manager = ServiceManager.of(os.environ)
        show = partial(summary.show, config, LogFormat(options.log_format))
        run_all = supervise if config.workers > 1 else serve
        main = partial(run_all, config, source, manager, show)
    log = configure_logging(LogFormat(options.log_format), worker, config.log_level)
    keep_freed_memory()
    try:
        try:
            run(LoopName(options.loop), main)
        finally:
            log.finish()
            flush_output()  # a log that nobody reads any more is no failure of the proxy
    except StartError as error:
        print(f"tsproxy: {error}", file=sys.stderr)
        return FAILED
    except ImportError:
        print("tsproxy: --loop uvloop: uvloop is not installed; pip install uvloop", file=sys.stderr)
        return MISTAKEN
    return OK

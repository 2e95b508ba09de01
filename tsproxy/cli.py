"""The command `tsproxy`: arguments in, wiring, exit codes; no logic.

Exit codes: 0 ok, 1 failed, 2 usage or configuration, 3 a quality gate tripped. A user's mistake gets a
sentence, never a traceback: which field, what it holds, what is allowed, what to do.
"""

import argparse
import json
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, Final

from tsproxy import __version__
from tsproxy.config import Config, ConfigError, Document, empty_document, load, put_setting, read_yaml
from tsproxy.config.document import Items, Scalar, Section
from tsproxy.config.notices import notices
from tsproxy.config.port_notices import port_notices
from tsproxy.config.source import Source
from tsproxy.offline.commands import add_explain, add_replay, add_scan
from tsproxy.offline.tail import add_tail

OK: Final = 0
FAILED: Final = 1
MISTAKEN: Final = 2

_EXAMPLES: Final = {
    "tsproxy": """\
examples:
  tsproxy run --upstream 127.0.0.1:9092 --listen 127.0.0.1:9192
  tsproxy run --config tsproxy.yaml --set policy.mode=off
  tsproxy check tsproxy.yaml
  tsproxy scan --upstream 127.0.0.1:9092
""",
    "run": """\
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
""",
    "check": """\
examples:
  tsproxy check tsproxy.yaml
      prints every problem with its line, and ends with status 2 if there is one; notices are no problems
  tsproxy check --json tsproxy.yaml | jq '.problems[]'
  tsproxy check --schema > tsproxy.schema.json
      for editors: # yaml-language-server: $schema=tsproxy.schema.json
""",
    "replay": """\
examples:
  tsproxy replay --config candidate.yaml --capture file.pcap
  tsproxy replay --config candidate.yaml --topic orders --for 10m
  tsproxy replay --decisions /var/lib/tsproxy/decisions --set policy.limits_from=config \\
      --set policy.defaults.message.timestamp.after.max.ms=10m

Changes nothing. Each source says what it cannot know; docs/offline.md says why.
""",
    "scan": """\
examples:
  tsproxy scan --upstream 127.0.0.1:9092
  tsproxy scan --upstream 127.0.0.1:9092 --topics 'orders-*' --json | jq '.findings[]'
  tsproxy scan --config tsproxy.yaml --fail-on ahead

Reads no record and changes nothing. docs/offline.md says what a finding means.
""",
    "explain": """\
examples:
  tsproxy explain --config tsproxy.yaml --topic payments-eu --timestamp 1767225600000000
  tsproxy explain --config tsproxy.yaml --topic orders --timestamp -1 --now 2026-12-01T00:00:00Z
  tsproxy explain --config tsproxy.yaml --topic orders --timestamp 0 --before 7d --after unlimited --json

Asks no broker. Where limits come from the brokers, --before and --after say what the topic has.
""",
    "decisions": """\
examples:
  tsproxy decisions tail --follow /var/lib/tsproxy/decisions
  tsproxy decisions schema > decisions.schema.json
""",
    "tail": """\
examples:
  tsproxy decisions tail --follow /var/lib/tsproxy/decisions
  tsproxy decisions tail --lines 1000 --json | jq 'select(.topic == "orders")'

Reads the files of decisions.directory, the one that is being written among them; changes nothing.
""",
    "schema": """\
example:
  tsproxy decisions schema > decisions.schema.json
""",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    options = _parser().parse_args(arguments)
    command: Callable[[argparse.Namespace], int] = options.command
    try:
        return command(options)
    except ConfigError as error:
        print(error, file=sys.stderr)
        return MISTAKEN
    except BrokenPipeError:  # whoever read our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED


def _run(options: argparse.Namespace) -> int:
    # Imported here: `--help`, `check` and `decisions` need neither a loop nor a Kafka client.
    from tsproxy.proxy.logging import LogFormat, configure_logging
    from tsproxy.proxy.loop import LoopName, run
    from tsproxy.proxy.server import serve
    from tsproxy.proxy.service_manager import ServiceManager
    from tsproxy.proxy.startup import StartError
    from tsproxy.proxy.workers.channel import inherited_orders
    from tsproxy.proxy.workers.supervisor import supervise
    from tsproxy.proxy.workers.worker import serve_as_worker

    # Until there is something to reload: a SIGHUP would end the process. Workers leave it so, since
    # their supervisor tells them.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    main: Callable[[], Coroutine[Any, Any, None]]
    orders = inherited_orders(os.environ)
    if orders is not None:
        main = partial(serve_as_worker, orders)
    else:
        source = Source(options.config, lambda: load(_document(options), os.environ))
        config = source.read()
        manager = ServiceManager.of(os.environ)
        main = partial(supervise if config.workers > 1 else serve, config, source, manager)
    level = (orders.config if orders else config).log_level
    configure_logging(LogFormat(options.log_format), orders.number if orders else None, level)
    try:
        run(LoopName(options.loop), main)
    except StartError as error:
        print(f"tsproxy: {error}", file=sys.stderr)
        return FAILED
    except ImportError:
        print("tsproxy: --loop uvloop: uvloop is not installed; pip install uvloop", file=sys.stderr)
        return MISTAKEN
    return OK


def _check(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    if options.schema:
        from tsproxy.config.schema import as_text

        print(as_text(), end="")
        return OK
    if options.file is None:
        parser.error("needs a FILE, or --schema")
    try:
        config = _checked(options.file)
    except ConfigError as error:
        if not options.json:
            raise
        problems = [asdict(problem) for problem in error.problems]
        print(json.dumps({"ok": False, "problems": problems, "notices": []}, indent=2))
        return MISTAKEN
    from tsproxy.clock import Clock
    from tsproxy.proxy.outgoing_ports import known_outgoing_ports
    from tsproxy.tls.certificate_expiry import certificate_notices

    now_ms = Clock().now_ms()
    found = [
        *notices(config, now_ms),
        *certificate_notices(config, now_ms),
        *port_notices(config, known_outgoing_ports()),
    ]
    if options.json:
        print(json.dumps({"ok": True, "problems": [], "notices": [asdict(each) for each in found]}, indent=2))
        return OK
    for each in found:
        print(f"{each.place}: {each.key}: notice: {each.text}")
    print(f"{options.file}: ok, {_summary(config)}")
    return OK


def _checked(file: Path) -> Config:
    """The configuration of a file whose certificates can be used. Raises ConfigError."""
    config = load(read_yaml(file), os.environ)
    from tsproxy.tls.contexts import check_files  # OpenSSL, but no loop and no Kafka client

    check_files(config)
    return config


def _decisions_schema(_: argparse.Namespace) -> int:
    from tsproxy.decisions.schema import json_schema

    print(json.dumps(json_schema(), indent=2))
    return OK


def _summary(config: Config) -> str:
    listeners = ", ".join(f"{each.name} at {each.bind}" for each in config.listeners)
    upstream = ", ".join(str(each) for each in config.upstream.bootstrap_servers)
    return f"mode {config.policy.mode}, listeners: {listeners}, upstream: {upstream}"


def _document(options: argparse.Namespace) -> Document:
    """The file with the flags laid over it, or the flags alone."""
    document = read_yaml(options.config) if options.config else empty_document()
    root = document.root
    if options.upstream:
        root.section("upstream", "--upstream").put(
            "bootstrap_servers", Scalar(options.upstream, "--upstream")
        )
    if options.listen:
        listener = Section("--listen")
        listener.put("bind", Scalar(options.listen, "--listen"))
        if options.advertised_host:
            listener.put("advertised_host", Scalar(options.advertised_host, "--advertised-host"))
        root.put("listeners", Items((listener,), "--listen"))
    if options.admin:
        root.section("admin", "--admin").put("bind", Scalar(options.admin, "--admin"))
    if options.decisions:
        root.section("decisions", "--decisions").put("directory", Scalar(options.decisions, "--decisions"))
    if options.log_level:
        root.section("log", "--log-level").put("level", Scalar(options.log_level, "--log-level"))
    if options.workers:
        root.put("workers", Scalar(options.workers, "--workers"))
    for setting in options.set:
        put_setting(document, setting)
    return document


def _parser() -> argparse.ArgumentParser:
    parser = _with_example(
        argparse.ArgumentParser,
        "tsproxy",
        description="A Kafka proxy that keeps bad record timestamps out of the log.",
    )
    parser.add_argument("--version", action="version", version=f"tsproxy {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    _add_run(_with_example(commands.add_parser, "run", help="run the proxy"))
    check = _with_example(
        commands.add_parser,
        "check",
        help="check a configuration file",
        description="Reads a file as run does, certificates and keys included. It connects to nothing.",
    )
    check.add_argument("file", metavar="FILE", type=Path, nargs="?", help="YAML; see docs/configuration.md")
    check.add_argument("--json", action="store_true", help="problems and notices as JSON: place, key, text")
    check.add_argument("--schema", action="store_true", help="print the JSON Schema of the file instead")
    check.set_defaults(command=partial(_check, check))
    add_replay(
        _with_example(commands.add_parser, "replay", help="judge traffic that is over, or runs elsewhere")
    )
    add_scan(_with_example(commands.add_parser, "scan", help="find timestamps from the future in a cluster"))
    add_explain(
        _with_example(commands.add_parser, "explain", help="say why a timestamp is taken or rejected")
    )
    decisions = _with_example(commands.add_parser, "decisions", help="the decision log")
    topics = decisions.add_subparsers(required=True, metavar="WHAT")
    add_tail(_with_example(topics.add_parser, "tail", help="show the newest lines, and those that come"))
    schema = _with_example(topics.add_parser, "schema", help="print the JSON Schema of the log's lines")
    schema.set_defaults(command=_decisions_schema)
    return parser


def _add_run(run: argparse.ArgumentParser) -> None:
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


def _with_example(
    make: Callable[..., argparse.ArgumentParser], name: str, **words: str
) -> argparse.ArgumentParser:
    return make(name, epilog=_EXAMPLES[name], formatter_class=argparse.RawDescriptionHelpFormatter, **words)

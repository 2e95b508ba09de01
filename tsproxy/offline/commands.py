"""The arguments of the offline commands, and their exit codes.

`add_scan`, `add_explain` and `add_replay` give a command its arguments. What a command needs is imported
when it runs: `--help` needs neither a loop nor a Kafka client.
"""

import argparse
import asyncio
import json
import os
import sys
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from ipaddress import ip_address
from pathlib import Path
from typing import Final, TypeVar

from tsproxy.config import Config, empty_document, load, put_setting, read_yaml
from tsproxy.config.document import Items, Scalar, Section
from tsproxy.config.settings import Sasl
from tsproxy.config.values import duration_ms, instant_ms, kafka_bound, topic_name, whole_number
from tsproxy.model.kafka import LONG_MAX, LONG_MIN
from tsproxy.model.policy import HOUR_MS, Span
from tsproxy.model.verdict import TopicLimits

T = TypeVar("T")

_NO_BROKER: Final = "127.0.0.1:1"

OK: Final = 0
FAILED: Final = 1
TRIPPED: Final = 3

INTERNAL: Final = "__"
"""How the names of Kafka's own topics begin; they are left out unless a pattern begins so."""


def add_scan(scan: argparse.ArgumentParser) -> None:
    _add_cluster(scan)
    scan.add_argument(
        "--topics",
        metavar="GLOB[,GLOB]",
        action="append",
        default=[],
        help="topics to look at, all but Kafka's own (__*) without it",
    )
    scan.add_argument(
        "--ahead",
        metavar="DURATION",
        type=argument(duration_ms),
        default="1m",
        help="how far ahead of this machine's clock counts as the future (1m)",
    )
    scan.add_argument(
        "--fail-on",
        choices=("ahead", "expired", "any"),
        help="end with status 3 where such a partition was found, 1 where one could not be asked",
    )
    _add_output(scan, "everything, one entry a partition")
    scan.set_defaults(command=lambda options: _scan(scan, options))


def _scan(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    from tsproxy.clock import Clock
    from tsproxy.cluster.admin_connection import ConversationError
    from tsproxy.offline.progress import Progress
    from tsproxy.offline.scan.cluster import ask_cluster
    from tsproxy.offline.scan.retention import Kind
    from tsproxy.offline.scan.survey import survey
    from tsproxy.offline.scan.tables import as_json, as_text

    upstream = _config(parser, options).upstream
    clock, is_wanted = Clock(), _wanted(options.topics)
    began_ms = clock.monotonic_ms()
    try:
        with Progress(clock) as progress:
            answers = asyncio.run(ask_cluster(upstream, is_wanted, progress))
    except ConversationError as error:
        print(f"tsproxy: {error}", file=sys.stderr)
        return FAILED
    found = survey(answers, clock.now_ms(), options.ahead)
    took_ms = clock.monotonic_ms() - began_ms
    if options.json:
        print(json.dumps(as_json(found, took_ms), indent=2))
    else:
        print(as_text(found, took_ms, options.rows))
    if (why := _why_nothing(found.visible_topics, found.topics, options.topics, upstream.sasl)) is not None:
        print(f"tsproxy: {why}", file=sys.stderr)
        return FAILED
    if not options.fail_on:
        return OK
    if found.has(frozenset(Kind) if options.fail_on == "any" else frozenset({Kind(options.fail_on)})):
        return TRIPPED
    return FAILED if found.unread else OK


def _why_nothing(visible: int, looked_at: int, patterns: Sequence[str], sasl: Sasl | None) -> str | None:
    """Why a survey had nothing to look at; None where it had, or where there are only Kafka's own topics."""
    if not visible:
        who = sasl.user if sasl else "this connection's principal"
        return (
            f"{who} sees no topic: the cluster has none, or brokers do not let it Describe them, and then "
            "tell of none. Grant it (kafka-acls.sh --add --allow-principal User:... --operation Describe "
            "--topic '*')"
        )
    if patterns and not looked_at:
        return f"none of the {visible:,} topics that may be seen fits --topics {','.join(patterns)}"
    return None


def add_explain(explain: argparse.ArgumentParser) -> None:
    explain.add_argument("--config", metavar="FILE", type=Path, help="a proxy's configuration", required=True)
    explain.add_argument("--topic", metavar="NAME", type=argument(topic_name), required=True)
    explain.add_argument(
        "--timestamp", metavar="MS", type=argument(_any_time_ms), required=True, help="as the record has it"
    )
    explain.add_argument(
        "--newest",
        metavar="MS",
        type=argument(_any_time_ms),
        help="the newest time of its partition (max_jump_ahead); else the clock",
    )
    explain.add_argument(
        "--bit-6",
        action="store_true",
        help="its batch has attribute bit 6 set (extended_timestamps, KIP-228)",
    )
    explain.add_argument("--client-id", metavar="ID")
    explain.add_argument("--principal", metavar="NAME", help="such as User:etl")
    explain.add_argument(
        "--address",
        metavar="IP",
        type=argument(_address),
        default="127.0.0.1",
        help="the client's (127.0.0.1)",
    )
    explain.add_argument("--client-software", metavar="NAME/VERSION", help="such as librdkafka/2.8.0")
    explain.add_argument(
        "--now", metavar="INSTANT", type=argument(instant_ms), help="such as 2026-12-01T00:00:00Z"
    )
    explain.add_argument(
        "--before",
        metavar="DURATION",
        type=argument(kafka_bound),
        help="the topic's own message.timestamp.before.max.ms, where limits come from the broker",
    )
    explain.add_argument(
        "--after",
        metavar="DURATION",
        type=argument(kafka_bound),
        help="the topic's own message.timestamp.after.max.ms",
    )
    explain.add_argument("--json", action="store_true")
    explain.add_argument("--set", metavar="KEY=VALUE", action="append", default=[], help="any other key")
    explain.set_defaults(command=lambda options: _explain(explain, options))


def _explain(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    from tsproxy.clock import Clock
    from tsproxy.model.outcome import Peer
    from tsproxy.model.own_rule import StreamTime
    from tsproxy.offline.explain import as_json, as_text
    from tsproxy.policy.explain import explain

    options.upstream = None
    policy = _config(parser, options, needs_upstream=False).policy
    now_ms = Clock().now_ms() if options.now is None else options.now
    peer = Peer("", options.address, 0, options.client_id, options.principal, options.client_software)
    limits = _topic_limits(options.before, options.after)
    newest = None if options.newest is None else StreamTime(options.newest, now_ms)
    found = explain(policy, peer, options.topic, *limits, options.timestamp, now_ms, options.bit_6, newest)
    if options.json:
        print(json.dumps(as_json(found), indent=2))
    else:
        print(as_text(found, options.timestamp, now_ms))
    return OK


def _topic_limits(before: Span | None, after: Span | None) -> tuple[TopicLimits | None, TopicLimits | None]:
    """A topic's own limits, and as a 4.x broker computes them: what is given is what somebody has set."""
    if before is None and after is None:
        return None, None
    before_ms, after_ms = (None if span is None else span.max_ms for span in (before, after))
    on_kafka_4 = TopicLimits(before_max_ms=before_ms, after_max_ms=HOUR_MS if after is None else after_ms)
    return TopicLimits(before_max_ms=before_ms, after_max_ms=after_ms), on_kafka_4


def add_replay(replay: argparse.ArgumentParser) -> None:
    _add_cluster(replay)
    source = replay.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "--capture", metavar="FILE", type=Path, help="a pcap or pcapng file of plain-text traffic"
    )
    source.add_argument("--topic", metavar="T", help="a topic, from its end; ends after --for, or at Ctrl-C")
    source.add_argument("--decisions", metavar="DIR", type=Path, help="the folder of a decision log")
    replay.add_argument(
        "--ports",
        metavar="N[,N]",
        type=_ports,
        default="9092",
        help="where brokers listen, in the capture (9092)",
    )
    replay.add_argument(
        "--for",
        dest="duration",
        metavar="DURATION",
        type=argument(duration_ms),
        default="1m",
        help="how long to read the topic (1m)",
    )
    replay.add_argument(
        "--records", metavar="N", type=argument(whole_number(1, 10**12)), help="… or until so many have come"
    )
    replay.add_argument(
        "--fail-on", choices=("rejected",), help="end with status 3 where something is rejected"
    )
    _add_output(replay, "everything, one entry for a topic and client")
    replay.set_defaults(command=lambda options: _replay(replay, options))


def _replay(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    from tsproxy.clock import Clock
    from tsproxy.offline.progress import Progress
    from tsproxy.offline.replay import command
    from tsproxy.offline.replay.tables import as_json, as_text

    needs_cluster = options.topic is not None
    config = _config(parser, options, needs_upstream=needs_cluster)
    if options.capture and config.policy.asks_broker and _names_nobody(config):
        parser.error(
            "needs --upstream, which is asked for topics' limits, or --set policy.limits_from=config"
        )
    clock = Clock()
    try:
        with Progress(clock) as progress:
            if options.capture:
                replayed = command.capture(config, options.capture, options.ports, progress)
            elif options.decisions:
                replayed = command.decisions(config, options.decisions)
            else:
                replayed = command.topic(
                    config, options.topic, clock, options.duration, options.records, progress
                )
    except command.ReplayError as error:
        print(f"tsproxy: {error}", file=sys.stderr)
        return FAILED
    print(json.dumps(as_json(replayed), indent=2) if options.json else as_text(replayed, options.rows))
    return TRIPPED if options.fail_on and replayed.tally.has_rejections else OK


def _add_output(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument("--json", action="store_true", help=what)
    rows = argument(whole_number(1, 10_000_000))
    parser.add_argument("--rows", metavar="N", type=rows, default=50, help="rows of each table (50)")


def _any_time_ms(text: str) -> int:
    allowed = f"a number of milliseconds from {LONG_MIN} to {LONG_MAX}, such as 1796083200000"
    try:
        time_ms = int(text)
    except ValueError:
        raise ValueError(allowed) from None
    if not LONG_MIN <= time_ms <= LONG_MAX:
        raise ValueError(allowed)
    return time_ms


def _address(text: str) -> str:
    try:
        return str(ip_address(text))
    except ValueError:
        raise ValueError("an address, such as 192.0.2.7 or 2001:db8::7") from None


def _ports(text: str) -> frozenset[int]:
    return frozenset(argument(whole_number(1, 65535))(port) for port in text.split(","))


def _add_cluster(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--upstream", metavar="H:P[,H:P]", help="brokers to begin with")
    parser.add_argument(
        "--config", metavar="FILE", type=Path, help="a proxy's configuration: upstream, with TLS and SASL"
    )
    parser.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="any other key, such as upstream.tls.ca",
    )


def _config(
    parser: argparse.ArgumentParser, options: argparse.Namespace, *, needs_upstream: bool = True
) -> Config:
    """The file with the flags laid over it, or the flags alone. Raises ConfigError."""
    if not options.config and not options.upstream and needs_upstream:
        parser.error("needs --upstream or --config")
    document = read_yaml(options.config) if options.config else empty_document()
    if options.upstream:
        upstream = document.root.section("upstream", "--upstream")
        upstream.put("bootstrap_servers", Scalar(options.upstream, "--upstream"))
    elif "upstream" not in document.root.entries and not needs_upstream:
        # Nobody is asked where limits come from the file alone (or from a log).
        upstream = document.root.section("upstream", "--upstream")
        upstream.put("bootstrap_servers", Scalar(_NO_BROKER, "--upstream"))
    if "listeners" not in document.root.entries:
        # A configuration must have one; nobody will listen there.
        listener = Section("--upstream")
        listener.put("bind", Scalar("127.0.0.1:0", "--upstream"))
        document.root.put("listeners", Items((listener,), "--upstream"))
    for setting in options.set:
        put_setting(document, setting)
    return load(document, os.environ)


def _names_nobody(config: Config) -> bool:
    return [str(each) for each in config.upstream.bootstrap_servers] == [_NO_BROKER]


def _wanted(patterns: Sequence[str]) -> Callable[[str], bool]:
    """By name; Kafka's own topics only where a pattern names them."""
    globs = [glob.strip() for each in patterns for glob in each.split(",") if glob.strip()]
    if not globs:
        return lambda topic: not topic.startswith(INTERNAL)

    def is_wanted(topic: str) -> bool:
        return any(
            fnmatchcase(topic, glob) and (glob.startswith(INTERNAL) or not topic.startswith(INTERNAL))
            for glob in globs
        )

    return is_wanted


def argument(parse: Callable[[str], T]) -> Callable[[str], T]:
    """A parser of configuration values as argparse wants it: its words, too, reach the user."""

    def parsed(text: str) -> T:
        try:
            return parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(f"{text!r} is not allowed; must be {error}") from None

    return parsed

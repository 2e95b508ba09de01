"""`tsproxy scan`: finds timestamps from the future in a cluster."""

import argparse
import asyncio
import json
import sys
from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import Final

from tsproxy.commands.options import add_cluster, add_output, argument, config_of
from tsproxy.config.settings import Sasl
from tsproxy.config.values import duration_ms
from tsproxy.model.exits import FAILED, OK, TRIPPED
from tsproxy.model.words import many

HELP: Final = "find timestamps from the future in a cluster"
EXAMPLES: Final = """\
examples:
  tsproxy scan --upstream 127.0.0.1:9092
  tsproxy scan --upstream 127.0.0.1:9092 --topics 'orders-*' --json | jq '.findings[]'

Reads no record and changes nothing. The page "tsproxy scan" says what a finding means.
"""

INTERNAL: Final = "__"
"""The names of Kafka's own topics begin with this. These topics are left out unless a pattern begins with it,
too."""


def add(scan: argparse.ArgumentParser) -> None:
    add_cluster(scan)
    scan.add_argument(
        "--topics",
        metavar="GLOB[,GLOB]",
        action="append",
        default=[],
        help="topics to scan (all but Kafka's own, __*)",
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
        help="exit with status 3 if such a partition is found, 1 if one cannot be read",
    )
    add_output(scan, "everything as JSON, one entry per partition")
    scan.set_defaults(command=lambda options: _scan(scan, options))


def _scan(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    from tsproxy.clock import Clock
    from tsproxy.cluster.admin_connection import ConversationError
    from tsproxy.offline.scan.cluster import query_cluster
    from tsproxy.offline.scan.retention import Kind
    from tsproxy.offline.scan.survey import survey
    from tsproxy.offline.scan.tables import as_json, as_text

    upstream = config_of(parser, options).upstream
    clock, is_selected = Clock(), _selection(options.topics)
    began_ms = clock.monotonic_ms()
    try:
        answers = asyncio.run(query_cluster(upstream, is_selected))
    except ConversationError as error:
        print(f"tsproxy: {error}", file=sys.stderr)
        return FAILED
    result = survey(answers, clock.now_ms(), options.ahead)
    took_ms = clock.monotonic_ms() - began_ms
    if options.json:
        print(json.dumps(as_json(result, took_ms), indent=2))
    else:
        print(as_text(result, took_ms, options.rows))
    if (why := _why_nothing(result.visible_topics, result.topics, options.topics, upstream.sasl)) is not None:
        print(f"tsproxy: {why}", file=sys.stderr)
        return FAILED
    if not options.fail_on:
        return OK
    if result.has(frozenset(Kind) if options.fail_on == "any" else frozenset({Kind(options.fail_on)})):
        return TRIPPED
    return FAILED if result.unread else OK


def _why_nothing(visible: int, looked_at: int, patterns: Sequence[str], sasl: Sasl | None) -> str | None:
    """Why a survey checked no topic; None if it checked some, or if the cluster only has Kafka's own
    topics."""
    if not visible:
        who = sasl.user if sasl else "this connection's principal"
        return (
            f"{who} sees no topic: the cluster has none, or brokers do not let it Describe them, and then "
            "tell of none. Grant it (kafka-acls.sh --add --allow-principal User:... --operation Describe "
            "--topic '*')"
        )
    if patterns and not looked_at:
        return f"none of {many(visible, 'topic')} that may be seen fits --topics {','.join(patterns)}"
    return None


def _selection(patterns: Sequence[str]) -> Callable[[str], bool]:
    """Selects topics by name; Kafka's own topics only if a pattern names them."""
    globs = [glob.strip() for pattern in patterns for glob in pattern.split(",") if glob.strip()]
    if not globs:
        return lambda topic: not topic.startswith(INTERNAL)

    def is_selected(topic: str) -> bool:
        return any(
            fnmatchcase(topic, glob) and (glob.startswith(INTERNAL) or not topic.startswith(INTERNAL))
            for glob in globs
        )

    return is_selected

"""`tsproxy explain`: says why a timestamp is accepted or rejected."""

import argparse
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from tsproxy.commands.options import argument, config_of
from tsproxy.config.values import instant_ms, kafka_bound, topic_name
from tsproxy.model.exits import OK
from tsproxy.model.kafka import LONG_MAX, LONG_MIN
from tsproxy.model.policy import HOUR_MS, TimeLimit
from tsproxy.model.verdict import TopicLimits

HELP: Final = "say why a timestamp is accepted or rejected"
EXAMPLES: Final = """\
examples:
  tsproxy explain --topic orders --timestamp 2026-01-01T00:00:00Z --before 7d
  tsproxy explain --config tsproxy.yaml --topic payments-eu --timestamp 1767225600000000

Asks no broker. If limits come from the brokers, --before and --after say what the topic has.
"""

_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,20}")
"""`20261201` is a number of milliseconds, and no date."""
_DATE: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def add(explain: argparse.ArgumentParser) -> None:
    explain.add_argument(
        "--config", metavar="FILE", type=Path, help="a proxy's configuration (none: the topic's limits alone)"
    )
    explain.add_argument(
        "--topic",
        metavar="NAME",
        type=argument(topic_name),
        required=True,
        help="the topic that the record is for",
    )
    explain.add_argument(
        "--timestamp",
        metavar="MS|INSTANT",
        type=argument(_any_time_ms),
        required=True,
        help="as the record has it, in ms, or such as 2026-01-01T00:00:00Z, or 2026-01-01 (midnight UTC)",
    )
    explain.add_argument(
        "--bit-6",
        action="store_true",
        help="its batch has attribute bit 6 set (extended_timestamps, KIP-228)",
    )
    explain.add_argument("--client-id", metavar="ID", help="the client id that sends it")
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
    explain.add_argument("--json", action="store_true", help="the answer as JSON")
    explain.add_argument("--set", metavar="KEY=VALUE", action="append", default=[], help="any other key")
    explain.set_defaults(command=lambda options: _explain(explain, options))


def _explain(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    from tsproxy.clock import Clock
    from tsproxy.model.outcome import Peer
    from tsproxy.offline.explain import as_json, as_text
    from tsproxy.policy.explain import explain

    options.upstream = None
    policy = config_of(parser, options, needs_upstream=False).policy
    now_ms = Clock().now_ms() if options.now is None else options.now
    software = options.client_software
    peer = Peer(
        "", options.address, 0, options.client_id, principal=options.principal, client_software=software
    )
    ask = partial(
        explain, policy, peer, options.topic, options.timestamp, now_ms=now_ms, has_bit_6=options.bit_6
    )
    known, on_kafka_4, others = _topic_limits(options.before, options.after)
    by_others = tuple(ask(known=limits, on_kafka_4=limits) for limits in others)
    answer = replace(ask(known=known, on_kafka_4=on_kafka_4), by_others=by_others)
    if options.json:
        print(json.dumps(as_json(answer), indent=2))
    else:
        print(as_text(answer, options.timestamp, now_ms))
    return OK


def _topic_limits(
    before: TimeLimit | None, after: TimeLimit | None
) -> tuple[TopicLimits | None, TopicLimits | None, Sequence[TopicLimits]]:
    """A topic's own limits, the same as a 4.x broker computes them, and others that the topic may have. The
    given values count as values of the topic."""
    from tsproxy.policy.explain import ANY_LIMITS

    if before is None and after is None:
        return None, None, ANY_LIMITS
    known, *others = (
        replace(
            limits,
            before_max_ms=before.max_ms if before else limits.before_max_ms,
            after_max_ms=after.max_ms if after else limits.after_max_ms,
        )
        for limits in (TopicLimits(), *ANY_LIMITS)
    )
    return known, known if after is not None else replace(known, after_max_ms=HOUR_MS), others


def _any_time_ms(text: str) -> int:
    allowed = (
        f"a number of milliseconds from {LONG_MIN} to {LONG_MAX}, such as 1796083200000, "
        "an instant with its zone, such as 2026-12-01T00:00:00Z, or a date (midnight UTC)"
    )
    try:
        if _NUMBER.fullmatch(text):
            time_ms = int(text)
        else:
            time_ms = instant_ms(f"{text}T00:00:00Z" if _DATE.fullmatch(text) else text)
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

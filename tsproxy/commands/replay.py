"""`tsproxy replay`: judges a topic's records, or the counts of a decision log."""

import argparse
import json
import sys
from pathlib import Path
from typing import Final

from tsproxy.commands.exits import FAILED, OK, TRIPPED
from tsproxy.commands.options import add_cluster, add_output, argument, config_of
from tsproxy.config.values import duration_ms, whole_number

HELP: Final = "judge traffic that is over, or runs elsewhere"
EXAMPLES: Final = """\
examples:
  tsproxy replay --config candidate.yaml --topic orders --for 10m
  tsproxy replay --decisions /var/lib/tsproxy/decisions --set policy.limits_from=config \\
      --set policy.defaults.message.timestamp.after.max.ms=10m

Changes nothing. Each source says what it cannot know; docs/guide/offline.md says why.
"""


def add(replay: argparse.ArgumentParser) -> None:
    add_cluster(replay)
    source = replay.add_mutually_exclusive_group(required=True)
    source.add_argument("--topic", metavar="T", help="a topic, from its end; ends after --for, or at Ctrl-C")
    source.add_argument("--decisions", metavar="DIR", type=Path, help="the folder of a decision log")
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
    add_output(replay, "everything, one entry for a topic and client")
    replay.set_defaults(command=lambda options: _replay(replay, options))


def _replay(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    from tsproxy.clock import Clock
    from tsproxy.offline.progress import Progress
    from tsproxy.offline.replay import command
    from tsproxy.offline.replay.tables import as_json, as_text

    needs_cluster = options.topic is not None
    config = config_of(parser, options, needs_upstream=needs_cluster)
    clock = Clock()
    try:
        with Progress(clock) as progress:
            if options.decisions:
                replayed = command.decisions(config, options.decisions)
            else:
                replayed = command.topic(
                    config,
                    options.topic,
                    clock,
                    progress,
                    duration_ms=options.duration,
                    most_records=options.records,
                )
    except command.ReplayError as error:
        print(f"tsproxy: {error}", file=sys.stderr)
        return FAILED
    print(json.dumps(as_json(replayed), indent=2) if options.json else as_text(replayed, options.rows))
    return TRIPPED if options.fail_on and replayed.tally.has_rejections else OK

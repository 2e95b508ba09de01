"""`spark_reports stream`: the decision log, from files or from the Kafka topic, streamed into a table."""

import argparse
import re
from typing import Final

from spark_reports import arguments
from spark_reports.commands.compact import table_places
from spark_reports.commands.spark_run import spark_at_work
from spark_reports.exits import OK, UsageError

_EXAMPLES: Final = """examples:
  spark_reports stream --input /var/lib/tsproxy/decisions --output lines --checkpoint state --once
  spark-submit --packages org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0 \\
    --py-files spark_reports-pyfiles.zip main.py stream --kafka kafka-1:9092 \\
    --output s3a://lake/lines --checkpoint s3a://lake/state
"""

_SECONDS: Final = {"s": 1, "m": 60, "h": 3_600}
_MAX_FILES: Final = 1_000
_MAX_OFFSETS: Final = 1_000_000
"""The most files or offsets of a micro-batch. Without these limits, the first one would contain all lines
that exist."""


def add(commands: arguments.Commands) -> None:
    parser = arguments.add_command(
        commands, "stream", "stream the log, from files or the Kafka topic, into a table", _EXAMPLES
    )
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "--input",
        type=arguments.plain_path,
        metavar="DIR",
        help="a directory of decision logs; closed files are read",
    )
    source.add_argument("--kafka", metavar="HOST:PORT,…", help="bootstrap servers; read the topic instead")
    parser.add_argument(
        "--topic", default="tsproxy.decisions", help="the topic of decisions (default tsproxy.decisions)"
    )
    parser.add_argument(
        "--kafka-option",
        action="append",
        default=[],
        type=_option,
        metavar="NAME=VALUE",
        help="an option of Spark's Kafka source, e.g. kafka.security.protocol=SASL_SSL",
    )
    arguments.add_skipping(parser)
    arguments.add_table(parser)
    parser.add_argument(
        "--checkpoint", required=True, metavar="DIR", help="the progress of the stream; one for each table"
    )
    when = parser.add_mutually_exclusive_group()
    when.add_argument("--once", action="store_true", help="end when all lines that exist now are written")
    when.add_argument(
        "--trigger",
        type=_interval_s,
        default=60,
        metavar="INTERVAL",
        help="the time between micro-batches, e.g. 30s, 10m or 1h (default 1m); each is a partition",
    )
    parser.add_argument(
        "--max-files",
        type=_many,
        metavar="N",
        help=f"files read in a micro-batch, with --input (default {_MAX_FILES:,})",
    )
    parser.add_argument(
        "--max-offsets",
        type=_many,
        metavar="N",
        help=f"records of the topic read in a micro-batch, with --kafka (default {_MAX_OFFSETS:,})",
    )
    arguments.add_master(parser)
    parser.set_defaults(run=run, quiet=False)


def run(options: argparse.Namespace) -> int:
    """Write until all existing lines are written (`--once`), or until stopped."""
    for name, source in (("max_files", "input"), ("max_offsets", "kafka")):
        if getattr(options, name) and not getattr(options, source):
            raise UsageError(f"--{name.replace('_', '-')} is for --{source}")
    places = [*table_places(options.output, options.format), options.checkpoint]
    with spark_at_work(options, "writing the table", is_brief=False, writes=places) as spark:
        from spark_reports.log import store, stream

        table = store.Table(options.output, store.Form(options.format))
        store.require(spark, table.form)
        if options.input:
            lines = stream.from_files(spark, options.input, options.max_files or _MAX_FILES)
        else:
            most = options.max_offsets or _MAX_OFFSETS
            lines = stream.from_kafka(spark, options.kafka, options.topic, most, dict(options.kafka_option))
        every_s = None if options.once else options.trigger
        query = stream.write(lines, table, options.checkpoint, every_s=every_s, folder=options.input)
        query.awaitTermination()
    return OK


def _option(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value


def _interval_s(text: str) -> int:
    found = re.fullmatch(r"([1-9]\d{0,5})(s|m|h)", text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not an interval such as 30s, 10m or 1h")
    return int(found[1]) * _SECONDS[found[2]]


def _many(text: str) -> int:
    if not re.fullmatch(r"[1-9]\d{0,11}", text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0")
    return int(text)

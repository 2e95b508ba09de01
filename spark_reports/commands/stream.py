"""`spark_reports stream`: the decision log, from files or from the Kafka topic, streamed into a table."""

import argparse
from typing import Final

from spark_reports import arguments
from spark_reports.commands.running import spark_at_work
from spark_reports.exits import OK

_EXAMPLES: Final = """examples:
  spark_reports stream --input /var/lib/tsproxy/decisions --output lines --checkpoint state --once
  spark-submit --packages org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0 \\
    --py-files spark_reports-pyfiles.zip main.py stream --kafka kafka-1:9092 \\
    --output s3a://lake/lines --checkpoint s3a://lake/state
"""


def add(commands: arguments.Commands) -> None:
    """Add the command to the parser."""
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
    parser.add_argument("--once", action="store_true", help="end when all lines that exist now are written")
    arguments.add_master(parser)
    parser.set_defaults(run=run, quiet=False)


def run(options: argparse.Namespace) -> int:
    """Write until all existing lines are written (`--once`), or until stopped."""
    with spark_at_work(options, "writing the table", is_brief=False) as spark:
        from spark_reports.log import store, stream

        table = store.Table(options.output, store.Form(options.format))
        store.require(spark, table.form)
        lines = (
            stream.from_files(spark, options.input)
            if options.input
            else stream.from_kafka(spark, options.kafka, options.topic, dict(options.kafka_option))
        )
        stream.write(lines, table, options.checkpoint, is_once=options.once).awaitTermination()
    return OK


def _option(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE")
    return name, value

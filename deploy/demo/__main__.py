"""`python -m deploy.demo` ends with 0 if all counts agree, with 1 if they differ or a step failed."""

import argparse
import asyncio
import signal
import sys
from pathlib import Path
from typing import Final

from aiokafka.errors import KafkaError

from deploy.demo.counts import IncompleteLogError
from deploy.demo.java_producer import JavaProducerError
from deploy.demo.processes import CommandError
from deploy.demo.run import Output, run
from tsproxy.testing.jars import JarsError
from tsproxy.testing.java import JavaError
from tsproxy.testing.kafka_node import KafkaStartError

_OK: Final = 0
_FAILED: Final = 1
_INTERRUPTED: Final = 130


def main() -> int:
    """Runs the demo; returns its exit code."""
    options = _parser().parse_args()
    exit_code = _FAILED
    try:
        exit_code = asyncio.run(_demo(options))
    except* (
        CommandError,
        IncompleteLogError,
        JarsError,
        JavaError,
        JavaProducerError,
        KafkaStartError,
    ) as failed:
        _explain(failed)
    except* (KafkaError, OSError) as failed:
        _explain(failed)
    except* (asyncio.CancelledError, KeyboardInterrupt):
        print("interrupted; everything that was started has been stopped", file=sys.stderr)
        exit_code = _INTERRUPTED
    return exit_code


async def _demo(options: argparse.Namespace) -> int:
    task = asyncio.current_task()
    assert task is not None
    # Both signals are set here, because a shell that starts the demo in the background ignores SIGINT.
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    agrees = await run(Output(options.output), options.every)
    return _OK if agrees else _FAILED


def _explain(failed: BaseException) -> None:
    if isinstance(failed, BaseExceptionGroup):
        for error in failed.exceptions:
            _explain(error)
    else:
        print(f"the demo failed: {type(failed).__name__}: {failed}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m deploy.demo",
        description="Real events, real clients, a real Kafka behind tsproxy, a report, and the proof.",
    )
    parser.add_argument(
        "--output", metavar="DIR", type=Path, default=Path("demo-output"), help="default: demo-output"
    )
    parser.add_argument("--every", metavar="N", type=int, default=1, help="send only every Nth event")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())

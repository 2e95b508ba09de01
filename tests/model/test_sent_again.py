"""The table of codes after which producers send again is that of Kafka's own classes."""

import subprocess
from pathlib import Path

import pytest

from tsproxy.model.kafka import ErrorCode
from tsproxy.model.sent_again import RETRIABLE
from tsproxy.testing.jars import fetch_kafka_jars, pyspark_jars
from tsproxy.testing.java_process import java_command

pytestmark = pytest.mark.broker  # for its jars

ASKS_KAFKA = Path(__file__).with_name("ErrorCodes.java")


@pytest.fixture(scope="module", params=["3.9.1", "4.3.1"])
def codes(request):
    """code -> (name, is a RetriableException), as the classes of that version have it."""
    class_path = [fetch_kafka_jars(request.param) / "*"]
    for name in ("janino", "commons-compiler"):
        class_path += pyspark_jars().glob(f"{name}-[0-9]*.jar")
    compiler = "org.codehaus.janino.SimpleCompiler"
    command = java_command(class_path, "64m", compiler, ASKS_KAFKA, ASKS_KAFKA.stem)
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = [line.split() for line in said.splitlines()]
    return {int(code): (name, is_retriable == "true") for code, name, is_retriable in rows}


def test_every_code_is_retriable_here_where_it_is_in_kafka(codes):
    """`Sender.canRetry`: `response.error.exception() instanceof RetriableException`."""
    assert len(codes) > 100
    assert {code: code in RETRIABLE for code in codes} == {code: said for code, (_, said) in codes.items()}


def test_every_code_has_kafkas_name(codes):
    named = {int(code): code.name for code in ErrorCode if code in codes}
    assert named == {code: codes[code][0] for code in named}


def test_no_retriable_code_is_unknown_to_the_newest_kafka(codes):
    newer = {ErrorCode.SHARE_SESSION_LIMIT_REACHED}
    assert set(RETRIABLE) - newer <= set(codes)

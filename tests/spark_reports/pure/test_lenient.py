"""A changed line as Python reads it on an executor; test_second_read.py reads each form with Spark."""

import gzip
import json
import subprocess

import pytest
import zstandard
from pyspark import cloudpickle

from spark_reports.log import lenient, packed_files, second_read
from tests.spark_reports import cluster
from tests.spark_reports.logs import counters

LINE = json.dumps(counters(1))
WRAPPED = json.dumps({"message": LINE}).encode()


def test_executors_need_neither_spark_reports_nor_tsproxy(tmp_path):
    """Only the driver of a cluster may have them."""
    assert second_read.lines
    work = cloudpickle.dumps((lenient.lines, packed_files.lines, WRAPPED, gzip.compress(WRAPPED)))
    (tmp_path / "work").write_bytes(work)
    program = (
        "import pickle; read, unpack, wrapped, packed = pickle.load(open('work', 'rb')); "
        "print(read(wrapped) == read(unpack(packed)[0])); print(read(wrapped)[0])"
    )
    command = [cluster.bare_python(tmp_path), "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True, env={})
    is_same, line = done.stdout.splitlines()
    assert (is_same, json.loads(line)) == ("True", counters(1))


@pytest.mark.parametrize(
    "content",
    [LINE.encode(), b"", b"\0", b"{", b'"', b'{"message":1}', b"[" * 5_000, b'{"log":' * 2_000, b"\xff\xfe"],
)
def test_a_text_that_is_read_as_it_came(content):
    """No text ends the run."""
    assert lenient.lines(content) is None


def test_a_line_in_two_fields_of_a_shipper_s_object_is_one_line():
    """Logstash writes it into `message` and `event.original`."""
    assert len(lenient.lines(json.dumps({"message": LINE, "event": {"original": LINE}}).encode())) == 1


def test_a_line_with_half_a_character_counts_as_changed():
    """Spark's reader of files refuses it."""
    for client_id in ("\ud800", "a"):
        text = json.dumps(counters(1, client_id=client_id)).encode()
        assert (lenient.lines(text) is None) == (client_id == "a")


def test_utf_16_of_any_language_is_read():
    text = json.dumps({"message": json.dumps(counters(1, client_id="é中"))}, ensure_ascii=False)
    first, second, _ = f"{text}\n{text}\n".encode("utf-16").split(b"\n")
    assert [json.loads(*lenient.lines(content))["client_id"] for content in (first, second)] == ["é中"] * 2


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_what_precedes_the_damage_of_a_packed_file_is_read(pack):
    whole = pack(b"a\nb\n" * 50_000) + pack(b"c\n")
    assert packed_files.lines(whole) == [*[b"a", b"b"] * 50_000, b"c", b""]
    assert packed_files.lines(whole[:-3])[:2] == [b"a", b"b"]
    assert packed_files.lines(whole[:-3])[-1].startswith(b"(damaged file")


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress])
def test_a_packed_file_is_not_held_beyond_its_limit(pack):
    content = pack(b"a\n" + bytes(1 << 20)) * 129
    assert packed_files.lines(content) == [packed_files.TOO_LARGE.encode()]


@pytest.mark.parametrize("ts", ["2026-02-30T00:00:00Z", "0000-01-01T00:00:00Z", "yesterday", 5, None, {}])
def test_what_is_no_instant_stays(ts):
    written = lenient.lines(json.dumps({"message": json.dumps(counters(1) | {"first_ts": ts})}).encode())
    assert json.loads(*written)["first_ts"] == ts

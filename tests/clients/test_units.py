"""The lines of producer-clients.md that convert a time: each gives the same instant in its own language."""

import re
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from tsproxy.testing.java import source_command

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "producer-clients.md"
INSTANT_MS = 1_796_083_200_000
SECONDS = INSTANT_MS // 1_000
MICROSECONDS, NANOSECONDS = INSTANT_MS * 1_000, INSTANT_MS * 1_000_000
TICKS, FILETIME = 639_316_800_000_000_000, 134_405_568_000_000_000
"""Counted in 100 ns, since the year 1 and since 1601."""
TEXT = "2026-12-01T01:00:00+01:00"
LOCAL = datetime(2026, 12, 1, 1)  # noqa: DTZ001 (a local time without its zone is what the page converts)


def lines_of(language, assigned):
    """The lines of the page's block that assigns to this name in each of them."""
    blocks = re.findall(rf"^```{language}\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    [block] = [block for block in blocks if all(line.startswith(assigned) for line in block.splitlines())]
    return block.splitlines()


def told_by(folder, command):
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    return [int(each) for each in done.stdout.split()]


def test_ticks_and_filetime_of_the_example_are_those_of_the_instant():
    at = datetime.fromtimestamp(SECONDS, UTC)
    assert (at - datetime(1, 1, 1, tzinfo=UTC)).total_seconds() * 10_000_000 == TICKS
    assert (at - datetime(1601, 1, 1, tzinfo=UTC)).total_seconds() * 10_000_000 == FILETIME


@pytest.mark.parametrize("line", lines_of("python", "timestamp_ms = "))
def test_each_line_of_python(line):
    names = {
        "seconds": SECONDS, "microseconds": MICROSECONDS, "nanoseconds": NANOSECONDS, "ticks": TICKS,
        "filetime": FILETIME, "text": TEXT, "aware": datetime.fromisoformat(TEXT),
        "local": LOCAL, "datetime": datetime, "ZoneInfo": ZoneInfo,
    }  # fmt: skip
    exec(line, names)  # the page's own line
    assert names["timestamp_ms"] == INSTANT_MS


@pytest.mark.broker  # it starts Java
def test_each_line_of_java(tmp_path):
    lines = lines_of("java", "timestampMs = ")
    (tmp_path / "Lines.java").write_text(f"""
        import java.time.*;
        import java.util.concurrent.TimeUnit;
        public class Lines {{
            public static void main(String[] args) {{
                long seconds = {SECONDS}L, microseconds = {MICROSECONDS}L, nanoseconds = {NANOSECONDS}L;
                long ticks = {TICKS}L, filetime = {FILETIME}L, timestampMs;
                String text = "{TEXT}";
                Instant instant = OffsetDateTime.parse(text).toInstant();
                LocalDateTime local = LocalDateTime.of(2026, 12, 1, 1, 0);
                {" ".join(f"{code(line)} System.out.println(timestampMs);" for line in lines)}
            }}
        }}""")
    command = source_command([], "64m", tmp_path / "Lines.java")
    assert told_by(tmp_path, command) == [INSTANT_MS] * len(lines)


@pytest.mark.go_and_node
def test_each_line_of_go(tmp_path):
    lines = lines_of("go", "t")
    (tmp_path / "lines.go").write_text(f"""package main
        import ("fmt"; "time"; _ "time/tzdata")
        func main() {{
            var seconds, microseconds, nanoseconds int64 = {SECONDS}, {MICROSECONDS}, {NANOSECONDS}
            var ticks, filetime int64 = {TICKS}, {FILETIME}
            text, local := "{TEXT}", "2026-12-01 01:00:00"
            berlin, err := time.LoadLocation("Europe/Berlin")
            var t time.Time
            {"".join(f"{code(line)}; fmt.Println(t.UnixMilli()){chr(10)}" for line in lines)}
            if err != nil {{ panic(err) }}
        }}""")
    assert told_by(tmp_path, ["go", "run", "lines.go"]) == [INSTANT_MS] * len(lines)


@pytest.mark.go_and_node
def test_each_line_of_node(tmp_path):
    lines = lines_of("js", "timestamp = ")
    (tmp_path / "lines.mjs").write_text(f"""
        const seconds = {SECONDS}, microseconds = {MICROSECONDS}, nanoseconds = {NANOSECONDS}n;
        const ticks = {TICKS}n, text = "{TEXT}", date = new Date(text);
        let timestamp;
        {"".join(f"{code(line)} console.log(timestamp);{chr(10)}" for line in lines)}""")
    assert told_by(tmp_path, [shutil.which("node"), "lines.mjs"]) == [INSTANT_MS] * len(lines)


def code(line):
    """The line without its comment."""
    return line.partition("//")[0].rstrip()

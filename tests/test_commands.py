"""The list of commands, and the answers to a command or an option that does not exist."""

import os
import re
import signal
import socket
import subprocess
import sys

import pytest

from spark_reports.cli import GROUPS as OF_REPORTS
from tests.in_process import run_command
from tests.kit.commands import output_of
from tests.kit.namespaces import FIRST_PROCESS, needs_namespaces
from tsproxy.cli import GROUPS as OF_PROXY


@pytest.mark.parametrize(("program", "groups"), [("tsproxy", OF_PROXY), ("spark_reports", OF_REPORTS)])
def test_help_lists_commands_in_groups_with_the_three_that_come_first_on_top(program, groups):
    parts = run_command(program, "--help").stdout.split("\n\n")
    shown = {part.partition(":\n")[0]: re.findall(r"^  (\S+) +\S", part, re.MULTILINE) for part in parts}

    assert [(title, shown[title]) for title in shown if title in groups] == [
        (title, list(commands)) for title, commands in groups.items()
    ]
    assert len(next(iter(groups.values()))) == 3


@pytest.mark.parametrize(
    ("word", "says"),
    [
        (
            "chekc",
            "tsproxy: error: chekc: unknown command; did you mean 'check'? Allowed here: doctor, run, ",
        ),
        ("docter", "docter: unknown command; did you mean 'doctor'? "),
        ("xyzzy", "xyzzy: unknown command; Allowed here: doctor, "),
    ],
)
def test_a_misspelt_command_is_answered_with_the_one_that_was_meant(word, says):
    result = run_command("tsproxy", word, "tsproxy.yaml")

    assert result.returncode == 2
    assert says in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (
            "tsproxy run --bootstrap-server h:1",
            "--bootstrap-server: unknown option; did you mean '--upstream'? ",
        ),
        ("tsproxy scan --brokers=h:1", "scan: error: --brokers: unknown option; did you mean '--upstream'? "),
        ("tsproxy doctor --upstream h:1 --bind h:2", "--bind: unknown option; did you mean '--listen'? "),
        ("tsproxy run --upstram h:1", "--upstram: unknown option; did you mean '--upstream'? "),
        ("tsproxy run --mode audit", "--mode: unknown option; did you mean '--set policy.mode=…'? Allowed"),
        ("tsproxy check --config a", "check: error: --config: unknown option; Allowed here: --json, "),
        ("tsproxy check a b", "tsproxy check: error: b: unknown argument\n"),
        ("tsproxy doctor a", "error: a: unknown argument; did you mean '--config a'?\n"),
        ("tsproxy scan kafka:9092", "unknown argument; did you mean '--upstream kafka:9092'?\n"),
        ("tsproxy run [::1]:9092,b:1", "unknown argument; did you mean '--upstream [::1]:9092,b:1'?\n"),
        ("tsproxy explain --topic t --timestamp 0 b:1", "did you mean '--config b:1'?\n"),
        (
            "spark_reports daily --input a --output b --day c",
            "--day: unknown option; did you mean '--date'? ",
        ),
    ],
)
def test_an_option_of_another_name_is_answered_with_the_one_that_was_meant(words, says):
    result = run_command(*words.split())

    assert result.returncode == 2
    assert says in result.stderr


@pytest.mark.parametrize("unbuffered", ["", "1"], ids=["found at the end", "found at the first line"])
def test_an_output_on_a_full_disk_is_one_sentence(unbuffered):
    words = [sys.executable, "-m", "tsproxy", "explain", "--topic", "t", "--timestamp", "1"]
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with open("/dev/full", "w") as full:
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, env=environment)
    assert (done.returncode, done.stderr) == (1, "tsproxy: cannot write: No space left on device\n")


@pytest.mark.parametrize("command", ["scan", "doctor"])
def test_an_interrupt_ends_a_command_without_a_traceback(command):
    with socket.create_server(("127.0.0.1", 0)) as broker:
        words = [
            sys.executable,
            "-m",
            "tsproxy",
            command,
            "--upstream",
            f"127.0.0.1:{broker.getsockname()[1]}",
        ]
        running = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        with broker.accept()[0] as asked:
            asked.recv(1)  # from now on it waits for an answer
            running.send_signal(signal.SIGINT)
            assert running.communicate(timeout=60) == ("", "")
    assert running.returncode == 130


SLOW = """
import runpy, signal, sys

class Disk:
    def find_spec(name, path, target=None):
        if name == "{program}.cli":
            print("importing", flush=True)
            signal.pause()

sys.meta_path.insert(0, Disk)
runpy.run_module("{program}", run_name="__main__")
"""


@needs_namespaces
@pytest.mark.parametrize("program", ["tsproxy", "spark_reports"])
def test_a_command_that_is_process_1_heeds_sigterm_while_it_is_imported(program):
    """As the first process of a container, to which Linux delivers no signal without a handler."""
    words = [*FIRST_PROCESS, sys.executable, "-c", SLOW.format(program=program)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout.readline() == "importing\n"
        os.kill(int(output_of("pgrep", "--parent", running.pid)), signal.SIGTERM)
        assert running.wait(timeout=30) == 143


def test_an_interrupt_ends_a_command_of_the_reports_likewise(tmp_path):
    os.mkfifo(tmp_path / "report.json")
    words = [sys.executable, "-m", "spark_reports", "gate", str(tmp_path), "--fail-on", "rejected_rate>1%"]
    running = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    with (tmp_path / "report.json").open("w"):  # from now on it waits for the content
        running.send_signal(signal.SIGINT)
        assert running.communicate(timeout=60) == ("", "")
    assert running.returncode == 130

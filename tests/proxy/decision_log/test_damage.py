"""A proxy's own files that a power loss has damaged: the next one starts, and names each file once.

The table has every file that a killed proxy leaves, so a new kind of file is in it.
"""

import json
import subprocess
import sys
from collections import Counter
from threading import Timer

import pytest

from tests.full_only import variations
from tests.proxy.decision_log.logs import names
from tests.proxy.world import PATIENCE_S
from tsproxy.proxy.decision_log.unsent import Position

CONFIG = """\
upstream: { bootstrap_servers: ["127.0.0.1:1"] }
listeners: [{ bind: "127.0.0.1:0" }]
decisions: { directory: FOLDER, topic: { name: log }, privacy: { addresses: hash } }
"""
DAMAGES = {
    "empty": lambda _: b"",
    "zeros": lambda content: bytes(len(content)),
    "half": lambda content: content[: len(content) // 2],
    "half zeros": lambda content: content[: len(content) // 2].ljust(len(content), b"\0"),
    "binary": lambda content: bytes(255 - byte for byte in content)[1:],
}


def begun(folder, files=()):
    """Runs a proxy until it has started and named these files, and kills it. Returns how often it has named
    each file."""
    config = folder.parent / "tsproxy.yaml"
    config.write_text(CONFIG.replace("FOLDER", str(folder)))
    command = [sys.executable, "-m", "tsproxy", "run", "--config", str(config), "--log-format", "json"]
    lines, named = [], Counter()
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as proxy:
        timer = Timer(PATIENCE_S, proxy.kill)
        timer.start()
        while not ("proxy_starting" in lines and named.keys() >= set(files)):
            text = proxy.stderr.readline()
            assert text.startswith("{"), f"{text}{proxy.stderr.read()}"
            line = json.loads(text)
            lines.append(line["event"])
            named.update([line["file"].rpartition("/")[2]] if "file" in line else [])
        timer.cancel()
        proxy.kill()
    return named


@pytest.fixture(scope="module")
def left(tmp_path_factory):
    """The files that a killed proxy has left: name -> content."""
    folder = tmp_path_factory.mktemp("killed") / "decisions"
    folder.mkdir()
    begun(folder)
    [position] = folder.glob(".unsent-*")
    position.write_bytes(Position(1, 1).as_text())
    assert [name[:5] for name in names(folder)] == [".salt", ".unse", "decis"]
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize(
    "damage",
    variations("the others are of their kind", DAMAGES, but=["empty", "zeros", "half"]),
)
def test_a_damaged_file_of_its_own_keeps_no_proxy_from_starting(tmp_path, left, damage):
    folder = tmp_path / "decisions"
    folder.mkdir()
    for name, content in left.items():
        (folder / name).write_bytes(DAMAGES[damage](content))
    expected = [name.removesuffix(".open") for name in left]
    if damage == "empty":
        [position] = folder.glob(".unsent-*")
        expected.remove(position.name)  # as if nothing had been sent
    assert begun(folder, expected) == Counter(expected)

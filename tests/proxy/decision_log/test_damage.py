"""A proxy's own files that a power loss has damaged: the next one starts, and names each file once.

The table has every file that a killed proxy leaves, so a new kind of file is in it.
"""

import json
import subprocess
import sys
from collections import Counter
from threading import Timer

import pytest

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


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_of_its_own_keeps_no_proxy_from_starting(tmp_path, damage):
    folder = tmp_path / "decisions"
    folder.mkdir()
    begun(folder)
    [position] = folder.glob(".unsent-*")
    position.write_bytes(Position(1, 1).as_text())
    left = names(folder)
    assert [name[:5] for name in left] == [".salt", ".unse", "decis"]
    for name in left:
        (folder / name).write_bytes(DAMAGES[damage]((folder / name).read_bytes()))
    expected = [name.removesuffix(".open") for name in left]
    if damage == "empty":
        expected.remove(position.name)  # as if nothing had been sent
    assert begun(folder, expected) == Counter(expected)

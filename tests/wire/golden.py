"""Bytes that Kafka's own classes wrote, by name: `GOLDEN["produce_response rejected v9"]`."""

from pathlib import Path

LINES = Path(__file__).with_name("golden.txt").read_text().splitlines()

GOLDEN = {
    name: bytes.fromhex(text)
    for name, _, text in (line.partition(":") for line in LINES if not line.startswith("#"))
}


def golden(name):
    """{version: bytes} of all lines `name v<version>`."""
    found = {}
    for line, data in GOLDEN.items():
        start, _, version = line.rpartition(" v")
        if start == name:
            found[int(version)] = data
    return found

"""The proxy as a program of ARM, under qemu: `python -m rigs.matrix --arm64 4.4.0`.

Debian's Python for arm64 is unpacked once, and a cross compiler compiles the native code for it each time.
Under qemu `python -m rigs.arm64 4.4.0` sends records through `tsproxy run` and reads them. The differential
rig runs there as it is. Brokers are programs of this machine.

qemu keeps the order of memory of x86, which is stricter than ARM's. So a race of ARM's alone is not seen.
"""

import asyncio
import os
import platform
import shutil
import subprocess
import sys
import time
from importlib.metadata import requires
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.errors import InvalidTimestampError

import tsproxy.proxy.server
from tests.kit.commands import made_once, output_of
from tsproxy.testing.kafka_cluster import KafkaCluster
from tsproxy.testing.proxy import RunningProxy

QEMU, COMPILER, UNPACKER = PROGRAMS = ("qemu-aarch64", "aarch64-linux-gnu-gcc", "mmdebstrap")
PACKAGES: Final = "qemu-user gcc-aarch64-linux-gnu libc6-dev-arm64-cross mmdebstrap"
UNPACKED: Final = "--include=base-files,libpython3-dev,libpython3-stdlib,libstdc++6,python3-minimal"
PLATFORMS: Final = ("--platform=manylinux2014_aarch64", "--platform=manylinux_2_28_aarch64")
HOUR_MS: Final = 3_600_000


def tried(kafka: str, batches: int) -> tuple[bool, str, str]:
    """Whether all was as intended, the version of Python, and the machine in words."""
    if not all(map(shutil.which, PROGRAMS)):
        raise SystemExit(f"For arm64: apt-get install {PACKAGES}")
    unpack = (UNPACKER, "--quiet", "--architectures=arm64", "--variant=extract", UNPACKED, "trixie")
    root = made_once("arm64-trixie", lambda folder: output_of(*unpack, folder))
    with TemporaryDirectory(prefix="tsproxy-arm64-") as made:
        python = Path(made, "python")  # -S: no packages of this machine
        python.write_text(f'#!/bin/sh\nexec {QEMU} -L {root} -0 "$0" {root}/usr/bin/python3 -S "$@"\n')
        python.chmod(0o755)
        version = output_of(python, "--version").split()[1]
        built = _built(root, version.rpartition(".")[0], Path(made))
        paths = {"PYTHONPATH": f"{built}:{os.getcwd()}", "PYTHONPYCACHEPREFIX": f"{made}/cache"}
        environment = os.environ | paths | {"PYTHONSAFEPATH": "1"}
        commands = (["rigs.arm64", kafka], ["rigs.differential", str(batches), "--versions", kafka])
        ended = [subprocess.run([python, "-m", *each], env=environment, check=False) for each in commands]
    machine = f"aarch64 under qemu {output_of(QEMU, '--version').split()[2]}"
    return not any(each.returncode for each in ended), version, machine


def _built(root: Path, python: str, made: Path) -> Path:
    """A folder with tsproxy, compiled for this root, and the packages that it needs."""
    built = made / "built"
    needed = [each.partition(";") for each in requires("tsproxy") or ()]
    names = [name for name, _, when in needed if not when or "uvloop" in when or "testing" in when]
    pip = (sys.executable, "-m", "pip", "install", "--quiet", "--target", built, *PLATFORMS)
    output_of(*pip, f"--python-version={python}", "--only-binary=:all:", "-c", "requirements.lock", *names)
    headers = f"-I{root}/usr/include/python{python} -idirafter {root}/usr/include"
    cross = {"CC": COMPILER, "CPPFLAGS": headers, "SETUPTOOLS_EXT_SUFFIX": ".so"}
    setup = (sys.executable, "setup.py", "build", "--build-lib", built, "--build-temp", made / "temp")
    output_of(*setup, env=os.environ | cross)
    return built


async def round_trips(kafka: str) -> str:
    """Records of each codec through `tsproxy run`: good ones are read, and bad ones it rejects."""
    now_ms, sent, told = time.time_ns() // 1_000_000, [], []
    async with KafkaCluster(kafka) as cluster:
        await cluster.create_topic("trips", config={"message.timestamp.after.max.ms": str(HOUR_MS)})
        async with RunningProxy(cluster.bootstrap_servers) as proxy:
            client = {"bootstrap_servers": proxy.bootstrap_servers}
            for codec in (None, "gzip", "snappy", "lz4", "zstd"):
                values = [f"{codec} {number}".encode() * 20 for number in range(50)]
                async with AIOKafkaProducer(**client, compression_type=codec) as producer:
                    for at_ms in (now_ms, now_ms + 2 * HOUR_MS):
                        sends = (producer.send_and_wait("trips", each, timestamp_ms=at_ms) for each in values)
                        told += await asyncio.gather(*sends, return_exceptions=True)
                sent += values
            async with AIOKafkaConsumer("trips", **client, auto_offset_reset="earliest") as consumer:
                read = [(await anext(consumer)).value for _ in sent]
        ends = await cluster.end_offsets("trips")
    counters = [line for line in proxy.decisions() if line["event"] == "counters"]
    rejected = sum(line["records"] for line in counters if line["verdict"] == "rejected")
    refused = sum(isinstance(each, InvalidTimestampError) for each in told)
    assert (read, sum(ends.values())) == (sent, len(sent)), "other records lie there than good ones"
    assert (refused, rejected) == (len(sent), len(sent)), "a bad one was not rejected here, or a good one was"
    return f"{len(read)} good records of {len(sent)} read, {rejected} bad ones rejected"


if __name__ == "__main__":  # what is compiled has no twin in Python
    compiled = {str(file) for file in Path(tsproxy.__file__).parent.rglob("*.so")}
    loaded = {getattr(module, "__file__", None) for module in sys.modules.values()}
    assert (platform.machine(), compiled - loaded) == ("aarch64", set())
    print(f"{len(compiled)} native modules, {asyncio.run(round_trips(sys.argv[1]))}", flush=True)

"""Programs that need Go or Node: made once, in the user's cache, and again when their sources change.

Modules come from their registries as go.sum and package-lock.json pin them.
"""

import hashlib
import os
import shutil
from pathlib import Path

from tests.kit.commands import made_once, output_of

PROGRAMS = Path(__file__).with_name("programs")


def go_program(name):
    """The command of programs/go/NAME."""
    return [_made("go", lambda folder: _run(folder, "go", "build", "-o", "bin/", "./...")) / "bin" / name]


def node_program():
    """The command of programs/node/client.mjs."""
    return ["node", _made("node", lambda folder: _run(folder, "npm", "ci", "--silent")) / "client.mjs"]


def confluent_program():
    """The command of programs/node-confluent/confluent.mjs.

    Its package downloads a library, or compiles librdkafka where it cannot: that takes minutes, and needs the
    headers of OpenSSL, zlib, zstd, curl and SASL. CKJS_LINKING=dynamic keeps it from downloading the sources
    of these.
    """

    def install(folder):
        _run(folder, "npm", "ci", "--silent", CKJS_LINKING="dynamic")

    return ["node", _made("node-confluent", install, beside="node") / "confluent.mjs"]


def _made(name, make, beside=None):
    """A copy of the sources with what was made of them; complete from the moment that it is there. It has the
    files of the folder `beside`, too, if its programs share code with these."""
    sources = [PROGRAMS / each for each in (beside, name) if each]
    digest = hashlib.sha256()
    for folder in sources:
        for file in sorted(path for path in folder.rglob("*") if path.is_file()):
            digest.update(str(file.relative_to(folder)).encode() + b"\0" + file.read_bytes() + b"\0")

    def copy_and_make(copy):
        for each in sources:
            shutil.copytree(each, copy, dirs_exist_ok=True)
        make(copy)

    return made_once(f"clients-{name}-{digest.hexdigest()[:8]}", copy_and_make)


def _run(folder, *command, **environment):
    output_of(*command, cwd=folder, env=os.environ | environment)

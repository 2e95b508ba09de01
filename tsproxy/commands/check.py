"""`tsproxy check`: checks a configuration file. It connects to nothing."""

import argparse
import json
import os
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Final

from tsproxy.config import Config, ConfigError, load, read_yaml
from tsproxy.config.enforced import mode_text
from tsproxy.model.exits import MISTAKEN, OK

HELP: Final = "check a configuration file"
EXAMPLES: Final = """\
examples:
  tsproxy check tsproxy.yaml
      prints every problem with its line, and ends with status 2 if there is one; notices are no problems
  tsproxy check --json tsproxy.yaml | jq '.problems[]'
  tsproxy check --schema > tsproxy.schema.json
      for editors: # yaml-language-server: $schema=tsproxy.schema.json
"""


def add(check: argparse.ArgumentParser) -> None:
    check.description = "Reads a file as run does, certificates and keys included. It connects to nothing."
    check.add_argument("file", metavar="FILE", type=Path, nargs="?", help="YAML")
    check.add_argument("--json", action="store_true", help="problems and notices as JSON: place, key, text")
    check.add_argument("--schema", action="store_true", help="print the JSON Schema of the file instead")
    check.set_defaults(command=partial(_check, check))


def _check(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    if options.schema:
        from tsproxy.config.schema import as_text

        print(as_text(), end="")
        return OK
    if options.file is None:
        parser.error("needs a FILE, or --schema")
    try:
        config = _checked(options.file)
    except ConfigError as error:
        if not options.json:
            raise
        problems = [asdict(problem) for problem in error.problems]
        print(json.dumps({"ok": False, "problems": problems, "notices": []}, indent=2))
        return MISTAKEN
    from tsproxy.clock import Clock
    from tsproxy.doctor.configuration import all_notices

    notices = all_notices(config, Clock().now_ms())
    if options.json:
        print(json.dumps({"ok": True, "problems": [], "notices": [*map(asdict, notices)]}, indent=2))
        return OK
    for notice in notices:
        print(f"{notice.place}: {notice.key}: notice: {notice.text}")
    print(f"{options.file}: ok, {_summary(config)}")
    return OK


def _checked(file: Path) -> Config:
    """The configuration in a file whose certificates are usable. Raises ConfigError."""
    config = load(read_yaml(file), os.environ)
    from tsproxy.tls.contexts import check_files, stored_sessions  # OpenSSL, but no loop and no Kafka client

    check_files(config)
    if stored := stored_sessions(config):
        raise ConfigError(*stored)
    return config


def _summary(config: Config) -> str:
    listeners = ", ".join(f"{listener.name} at {listener.bind}" for listener in config.listeners)
    upstream = ", ".join(str(address) for address in config.upstream.bootstrap_servers)
    return f"{mode_text(config.policy)}, listeners: {listeners}, upstream: {upstream}"

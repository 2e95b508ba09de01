"""`tsproxy doctor`: examines what `tsproxy run` needs, and says what to do."""

import argparse
import asyncio
import json
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from tsproxy.commands.options import add_proxy, proxy_document, put_no_listener
from tsproxy.config import Config, ConfigError, load
from tsproxy.model.exits import FAILED, MISTAKEN, OK

if TYPE_CHECKING:
    from tsproxy.doctor.findings import Finding

HELP: Final = "check configuration, cluster and ports before a start"
EXAMPLES: Final = """\
examples:
  tsproxy doctor --config tsproxy.yaml
  tsproxy doctor --upstream 127.0.0.1:9092 --listen 127.0.0.1:9192
      takes the flags of tsproxy run; without --listen or a file, ports are not tried
  tsproxy doctor --config tsproxy.yaml --json | jq '.findings[] | select(.grade == "problem")'

Run it as the user of the proxy. It changes nothing: it writes no record and no file. Status 0: no problem;
1: a problem, with what to do; 2: wrong usage, or a configuration that cannot be used.
"""


def add(doctor: argparse.ArgumentParser) -> None:
    doctor.description = (
        "Checks what tsproxy run needs, except the folder of the decision log. It changes nothing."
    )
    add_proxy(doctor)
    doctor.add_argument("--json", action="store_true", help="everything as JSON: check, grade, text, advice")
    doctor.set_defaults(command=lambda options: _doctor(doctor, options))


def _doctor(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    from tsproxy.clock import Clock
    from tsproxy.doctor.configuration import unusable
    from tsproxy.doctor.examination import examine
    from tsproxy.doctor.findings import has_problem

    if not options.config and not options.upstream:
        parser.error("needs --config or --upstream")
    try:
        config = _config(parser, options)
    except ConfigError as error:
        _show(unusable(error), as_json=options.json)
        return MISTAKEN
    findings = asyncio.run(examine(config, Clock()))
    _show(findings, as_json=options.json)
    return FAILED if has_problem(findings) else OK


def _config(parser: argparse.ArgumentParser, options: argparse.Namespace) -> Config:
    """The configuration, whose certificates can be used. Raises ConfigError."""
    from tsproxy.tls.contexts import check_files

    document = proxy_document(parser, options)
    if not options.config:
        put_no_listener(document)
    config = load(document, os.environ)
    check_files(config)
    return config


def _show(findings: "Sequence[Finding]", *, as_json: bool) -> None:
    from tsproxy.doctor.findings import as_json as json_of
    from tsproxy.doctor.findings import as_text

    print(json.dumps(json_of(findings), indent=2) if as_json else as_text(findings))

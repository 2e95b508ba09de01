"""Arguments that several commands share, and the configuration that they result in."""

import argparse
import os
from collections.abc import Callable, Container
from pathlib import Path
from typing import Final, TypeVar

from tsproxy.config import Config, Document, empty_document, load, put_setting, read_yaml
from tsproxy.config.document import Items, Scalar, Section
from tsproxy.config.problems import shown
from tsproxy.config.synonyms import names_here
from tsproxy.config.tree import paths_of
from tsproxy.config.values import whole_number

T = TypeVar("T")

_NO_BROKER: Final = "127.0.0.1:1"


def add_command(
    commands: "argparse._SubParsersAction[argparse.ArgumentParser]", name: str, text: str, examples: str
) -> argparse.ArgumentParser:
    parser = commands.add_parser(
        name, help=text, epilog=examples, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.set_defaults(parser=parser)
    return parser


def add_cluster(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--upstream", metavar="H:P[,H:P]", help="bootstrap servers")
    parser.add_argument(
        "--config", metavar="FILE", type=Path, help="a proxy's configuration: upstream, with TLS and SASL"
    )
    parser.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="any other key, such as upstream.tls.ca",
    )


PROXY_KEYS: Final = {
    "upstream": "upstream.bootstrap_servers",
    "admin": "admin.bind",
    "decisions": "decisions.directory",
    "log_level": "log.level",
    "workers": "workers",
}
"""The flags of a proxy with one configuration key each."""


def add_proxy(parser: argparse.ArgumentParser) -> None:
    """The flags that make up a proxy's configuration."""
    parser.add_argument("--config", metavar="FILE", type=Path, help="YAML; flags win")
    parser.add_argument("--upstream", metavar="H:P[,H:P]", help="bootstrap servers")
    parser.add_argument(
        "--listen", metavar="H:P", help="where clients bootstrap; brokers get the ports from P + 1"
    )
    parser.add_argument(
        "--advertised-host", metavar="H", help="the host name that clients connect to, with --listen"
    )
    parser.add_argument("--admin", metavar="H:P|off", help="metrics and health (127.0.0.1:9464)")
    parser.add_argument("--decisions", metavar="DIR", help="folder of the decision log (tsproxy-decisions)")
    parser.add_argument("--workers", metavar="N", help="number of processes (1)")
    parser.add_argument("--set", metavar="KEY=VALUE", action="append", default=[], help="any other key")


def meant(option: str, known: Container[str]) -> list[str]:
    """The options among `known` that set the key which `option` may mean: `--brokers` is `--upstream`."""
    paths = paths_of(names_here(option.removeprefix("--")))
    flags = {"listeners[].bind": "--listen", **{key: f"--{flag}" for flag, key in PROXY_KEYS.items()}}
    short = [flags[path] for path in paths if flags.get(path) in known]
    rest = [f"--set {path}=…" for path in paths if "[]" not in path and "--set" in known]
    return short + rest


def proxy_document(parser: argparse.ArgumentParser, options: argparse.Namespace) -> Document:
    """The file with the flags applied over it, or the flags alone. Raises ConfigError."""
    if options.advertised_host and not options.listen:
        parser.error("--advertised-host goes with --listen; a file has listeners[].advertised_host")
    document = read_yaml(options.config) if options.config else empty_document()
    if options.listen:
        listener = Section("--listen")
        listener.put("bind", Scalar(options.listen, "--listen"))
        if options.advertised_host:
            listener.put("advertised_host", Scalar(options.advertised_host, "--advertised-host"))
        document.root.put("listeners", Items((listener,), "--listen"))
    for name, key in PROXY_KEYS.items():
        if text := getattr(options, name, None):
            put_setting(document, f"{key}={text}", f"--{name.replace('_', '-')}")
    for setting in options.set:
        put_setting(document, setting)
    return document


def put_no_listener(document: Document) -> None:
    """Add a listener if there is none, since a configuration must have one. Nothing listens at it."""
    if "listeners" not in document.root.entries:
        listener = Section("--upstream")
        listener.put("bind", Scalar("127.0.0.1:0", "--upstream"))
        document.root.put("listeners", Items((listener,), "--upstream"))


def add_output(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument("--json", action="store_true", help=what)
    rows = argument(whole_number(1, 10_000_000))
    parser.add_argument("--rows", metavar="N", type=rows, default=50, help="rows of each table (50)")


def config_of(
    parser: argparse.ArgumentParser, options: argparse.Namespace, *, needs_upstream: bool = True
) -> Config:
    """The file with the flags applied over it, or the flags alone. Raises ConfigError."""
    if not options.config and not options.upstream and needs_upstream:
        parser.error("needs --upstream or --config")
    document = read_yaml(options.config) if options.config else empty_document()
    servers = options.upstream
    if not servers and "upstream" not in document.root.entries and not needs_upstream:
        servers = _NO_BROKER  # no broker is queried if limits come only from the file, or from a log
    if servers:
        put_setting(document, f"upstream.bootstrap_servers={servers}", "--upstream")
    put_no_listener(document)
    for setting in options.set:
        put_setting(document, setting)
    return load(document, os.environ)


def argument(parse: Callable[[str], T]) -> Callable[[str], T]:
    """A parser of configuration values in argparse's form: the user also sees the parser's error text."""

    def parsed(text: str) -> T:
        try:
            return parse(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(f"{shown(text)} is not allowed; must be {error}") from None

    return parsed

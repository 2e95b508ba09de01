"""Reads YAML and command-line flags into one frozen `Config`, or reports all problems at once.

`document` reads YAML into nodes with their places. `settings` has the classes of the configuration. Each of
their fields declares its key (`keys` says how; `kinds` and `values` have the parsers). `tree` collects the
declared keys, `load` reads a document along that tree, and `build` makes settings of the parsed values.
`schema` writes the same tree for editors, and `reloaded` compares two configurations along it.

    config = load(read_yaml(path), environ=os.environ)      # raises ConfigError

A `ConfigError` is always the operator's mistake, never the program's.

Non-goals: this package reads no certificates, looks up no names and opens no sockets. The proxy does that,
and reports problems in the same form.
"""

from tsproxy.config.document import Document, empty_document, read_yaml
from tsproxy.config.load import load, put_setting
from tsproxy.config.problems import ConfigError, Problem
from tsproxy.config.settings import Config

__all__ = [
    "Config",
    "ConfigError",
    "Document",
    "Problem",
    "empty_document",
    "load",
    "put_setting",
    "read_yaml",
]

"""YAML and command-line flags in, one frozen `Config` out, or every problem at once.

`document` reads YAML into nodes that know their place. `settings` has the classes of the configuration; each
of their fields declares its key (`keys` says how, `kinds` and `values` have the parsers). `tree` collects
the declared keys, `load` walks a document along that tree, and `build` makes settings of the values that were
parsed. `reference` and `schema` write the same tree for readers and for editors, `reloaded` compares two
configurations along it.

    config = load(read_yaml(path), environ=os.environ)      # raises ConfigError

A `ConfigError` is always the operator's mistake, never the program's.

Non-goals: it reads no certificates, looks up no names and opens no sockets. The proxy does that, and reports
problems in the same form.
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

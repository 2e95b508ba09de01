"""YAML and command-line flags in, one frozen `Config` out, or every problem at once.

`document` reads YAML into nodes that know their place, `values` holds one parser per kind of value,
`keys` is the table of all keys (what the docs are made from), `load` walks a document along that
table, `build` turns parsed values into `settings`.

    config = load(read_yaml(path), environ=os.environ)      # raises ConfigError

Whose fault is in the type: `ConfigError` is always the operator's.

Non-goals: no reading of certificates, no look-up of names, no opening of sockets: `proxy` does
that, and reports what it finds in the same words.
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

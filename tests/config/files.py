"""Configuration files as texts, and what becomes of them."""

import pytest
import yaml

from tsproxy.config import ConfigError, load
from tsproxy.config.document import parse_yaml
from tsproxy.config.tree import steps_of

SMALLEST = """\
upstream: { bootstrap_servers: [kafka-1:9092] }
listeners:
  - bind: 127.0.0.1:9192
"""


def config_of(text, environ=None):
    return load(parse_yaml(text, "tsproxy.yaml"), environ or {})


def problems_of(text, environ=None):
    with pytest.raises(ConfigError) as caught:
        config_of(text, environ)
    return [str(problem) for problem in caught.value.problems]


def file_with(path, value):
    """The smallest configuration with a value at this path. A list on the way has one item."""
    document = yaml.safe_load(SMALLEST)
    *above, leaf = steps_of(path)
    section = document
    for name in above:
        section = section.setdefault(name.removesuffix("[]"), [{}] if name.endswith("[]") else {})
        section = section[0] if isinstance(section, list) else section
    section[leaf.removesuffix("[]")] = value
    return yaml.safe_dump(document)

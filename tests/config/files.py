"""Configuration files as texts, and what becomes of them."""

import pytest

from tsproxy.config import ConfigError, load
from tsproxy.config.document import parse_yaml

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

"""The findings about a configuration by itself. No connection is made."""

from collections.abc import Iterator
from typing import Final

from tsproxy.config.enforced import mode_text
from tsproxy.config.notices import notices
from tsproxy.config.problems import ConfigError, Problem
from tsproxy.config.settings import Config
from tsproxy.doctor.findings import Check, Finding
from tsproxy.tls.certificate_expiry import certificate_notices
from tsproxy.tls.ciphers import cipher_notices
from tsproxy.tls.contexts import stored_sessions

CONFIGURATION: Final = Check("configuration")


def all_notices(config: Config, now_ms: int) -> list[Problem]:
    """The notices about a configuration that `tsproxy check` prints as well."""
    return [*notices(config, now_ms), *certificate_notices(config, now_ms), *cipher_notices(config)]


def examine(config: Config, now_ms: int) -> Iterator[Finding]:
    policy = config.policy
    yield CONFIGURATION.ok(f"can be read: {mode_text(policy)}, limits from {policy.limits_from}")
    for notice in (*stored_sessions(config), *all_notices(config, now_ms)):
        yield CONFIGURATION.warning(str(notice))


def unusable(error: ConfigError) -> list[Finding]:
    return [CONFIGURATION.problem(str(problem)) for problem in error.problems]

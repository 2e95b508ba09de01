"""Builds `upstream.admin.sasl`, whose keys depend on its mechanism."""

from collections.abc import Iterator
from importlib.util import find_spec
from typing import Final

from tsproxy.config.keys import Key, keys_of, name_of
from tsproxy.config.parsed import Parsed, make
from tsproxy.config.problems import Problem
from tsproxy.config.settings import (
    ClientCredentials,
    Credentials,
    Kerberos,
    MskIam,
    Password,
    Sasl,
    SaslMechanism,
    TokenFile,
)

_PASSWORD: Final = (Password,)
_KINDS: Final[dict[SaslMechanism, tuple[type[Credentials], ...]]] = {
    SaslMechanism.PLAIN: _PASSWORD,
    SaslMechanism.SCRAM_SHA_256: _PASSWORD,
    SaslMechanism.SCRAM_SHA_512: _PASSWORD,
    SaslMechanism.OAUTHBEARER: (ClientCredentials, TokenFile),
    SaslMechanism.AWS_MSK_IAM: (MskIam,),
    SaslMechanism.GSSAPI: (Kerberos,),
}
"""The kinds of credentials that a mechanism takes; each declares its own keys."""

_LIBRARIES: Final = {
    SaslMechanism.AWS_MSK_IAM: ("aws_msk_iam_sasl_signer", "msk"),
    SaslMechanism.GSSAPI: ("gssapi", "kerberos"),
}
"""The module that a mechanism needs, and the extra of tsproxy that installs it."""


def build_sasl(parsed: Parsed, problems: list[Problem]) -> Sasl | None:
    """None if there are problems, which are added."""
    mechanism: SaslMechanism = parsed["mechanism"]
    kinds = _KINDS[mechanism]
    given = {name for name, value in parsed.values.items() if value is not None} - {"mechanism"}
    kind = next((each for each in kinds if given & {*_needed(each)}), kinds[0])
    before = len(problems)
    for name in sorted(given - {*_needed(kind), *_optional(kind)}):
        text = f"does not go with mechanism {mechanism}, which takes {_keys(kind)}; leave it out"
        problems.append(Problem(parsed.place, f"{parsed.path}.{name}", text))
    for name in _needed(kind):
        if name not in given:
            text = f"is missing: {mechanism} takes {' or '.join(_keys(each) for each in kinds)}"
            problems.append(Problem(parsed.place, f"{parsed.path}.{name}", text))
    if {"profile", "role_arn"} <= given:
        text = "give profile or role_arn, not both"
        problems.append(Problem(parsed.place, f"{parsed.path}.role_arn", text))
    module, extra = _LIBRARIES.get(mechanism, (None, None))
    if module is not None and find_spec(module) is None:
        text = f"{mechanism} needs the Python package {module}: pip install 'tsproxy[{extra}]'"
        problems.append(Problem(parsed.place, f"{parsed.path}.mechanism", text))
    return Sasl(mechanism, make(kind, parsed)) if len(problems) == before else None


def _needed(kind: type[Credentials]) -> list[str]:
    return [name for name, is_required in _names(kind) if is_required]


def _optional(kind: type[Credentials]) -> list[str]:
    return [name for name, is_required in _names(kind) if not is_required]


def _names(kind: type[Credentials]) -> Iterator[tuple[str, bool]]:
    """The keys of that kind of credentials, and whether each must be given."""
    for name, key in keys_of(kind).items():
        yield name_of(name, key), isinstance(key, Key) and key.is_required


def _keys(kind: type[Credentials]) -> str:
    needed = " and ".join(_needed(kind))
    optional = " and ".join(_optional(kind))
    if not optional:
        return needed
    return f"{needed} (and may have {optional})" if needed else f"only {optional}"

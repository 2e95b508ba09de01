"""Builds `upstream.admin.sasl`, whose keys depend on its mechanism."""

from importlib.util import find_spec
from typing import Final

from tsproxy.config.keys import Key, file_of, keys_of, name_of
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
"""The kinds of credentials that a mechanism takes. Each kind declares its own keys."""

_LIBRARIES: Final = {
    SaslMechanism.AWS_MSK_IAM: ("aws_msk_iam_sasl_signer", "aws-msk-iam-sasl-signer-python"),
    SaslMechanism.GSSAPI: ("gssapi", "gssapi"),
}
"""The module that a mechanism needs, and the package that has it."""


def build_sasl(parsed: Parsed, problems: list[Problem]) -> Sasl | None:
    """The settings, or None if there are problems, which are added to `problems`."""
    mechanism: SaslMechanism = parsed["mechanism"]
    kinds = _KINDS[mechanism]
    in_files = {file_of(name): name for name in parsed.values if file_of(name) in parsed.values}
    given = {in_files.get(name, name) for name, value in parsed.values.items() if value is not None}
    given -= {"mechanism"}
    kind = next((kind for kind in kinds if given & {*_names(kind, required=True)}), kinds[0])
    required, optional = _names(kind, required=True), _names(kind, required=False)
    before = len(problems)
    for name in sorted(given - {*required, *optional}):
        text = f"does not go with mechanism {mechanism}, which takes {_keys_text(kind)}; leave it out"
        problems.append(parsed.problem(text, name))
    for name in required:
        if name not in given:
            text = f"is missing: {mechanism} takes {' or '.join(map(_keys_text, kinds))}"
            problems.append(parsed.problem(text, name))
    if {"profile", "role_arn"} <= given:
        problems.append(parsed.problem("give profile or role_arn, not both", "role_arn"))
    module, package = _LIBRARIES.get(mechanism, (None, None))
    if module is not None and find_spec(module) is None:
        text = f"{mechanism} needs the Python package {module}: pip install {package}"
        problems.append(parsed.problem(text, "mechanism"))
    return Sasl(mechanism, make(kind, parsed)) if len(problems) == before else None


def _names(kind: type[Credentials], *, required: bool) -> list[str]:
    keys = (
        (name_of(name, key), isinstance(key, Key) and key.is_required) for name, key in keys_of(kind).items()
    )
    return [name for name, is_required in keys if is_required is required]


def _keys_text(kind: type[Credentials]) -> str:
    required = " and ".join(_names(kind, required=True))
    optional = " and ".join(_names(kind, required=False))
    if not optional:
        return required
    return f"{required} (and may have {optional})" if required else f"only {optional}"

"""Who the proxy's own connection is: `upstream.admin.sasl`, whose keys depend on its mechanism."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Final

from tsproxy.config.parsed import Parsed
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


@dataclass(frozen=True, slots=True)
class _Form:
    """One set of keys that a mechanism takes, and what it makes of them."""

    needs: tuple[str, ...]
    may_have: tuple[str, ...]
    make: Callable[[Parsed], Credentials]


_PASSWORD: Final = (
    _Form(("username", "password"), (), lambda keys: Password(keys["username"], keys["password"])),
)

_FORMS: Final[dict[SaslMechanism, tuple[_Form, ...]]] = {
    SaslMechanism.PLAIN: _PASSWORD,
    SaslMechanism.SCRAM_SHA_256: _PASSWORD,
    SaslMechanism.SCRAM_SHA_512: _PASSWORD,
    SaslMechanism.OAUTHBEARER: (
        _Form(
            ("token_endpoint", "client_id", "client_secret"),
            ("scope", "token_endpoint_ca"),
            lambda keys: ClientCredentials(
                keys["token_endpoint"],
                keys["client_id"],
                keys["client_secret"],
                keys["scope"],
                keys["token_endpoint_ca"],
            ),
        ),
        _Form(("token_file",), (), lambda keys: TokenFile(keys["token_file"])),
    ),
    SaslMechanism.AWS_MSK_IAM: (
        _Form(
            ("region",),
            ("profile", "role_arn"),
            lambda keys: MskIam(keys["region"], keys["profile"], keys["role_arn"]),
        ),
    ),
    SaslMechanism.GSSAPI: (
        _Form((), ("service_name",), lambda keys: Kerberos(keys["service_name"] or Kerberos().service_name)),
    ),
}

_LIBRARIES: Final = {
    SaslMechanism.AWS_MSK_IAM: ("aws_msk_iam_sasl_signer", "msk"),
    SaslMechanism.GSSAPI: ("gssapi", "kerberos"),
}
"""The module that a mechanism needs, and the extra of tsproxy that installs it."""


def build_sasl(parsed: Parsed, problems: list[Problem]) -> Sasl | None:
    """None where there are problems, which are added."""
    mechanism: SaslMechanism = parsed["mechanism"]
    forms = _FORMS[mechanism]
    given = {name for name, value in parsed.values.items() if value is not None} - {"mechanism"}
    form = next((each for each in forms if given & {*each.needs}), forms[0])
    before = len(problems)
    for name in sorted(given - {*form.needs, *form.may_have}):
        text = f"does not go with {_described(mechanism, form)}; leave it out"
        problems.append(Problem(parsed.place, f"{parsed.path}.{name}", text))
    for name in form.needs:
        if name not in given:
            text = f"is missing: {mechanism} takes {' or '.join(_keys(each) for each in forms)}"
            problems.append(Problem(parsed.place, f"{parsed.path}.{name}", text))
    if {"profile", "role_arn"} <= given:
        text = "give profile or role_arn, not both"
        problems.append(Problem(parsed.place, f"{parsed.path}.role_arn", text))
    module, extra = _LIBRARIES.get(mechanism, (None, None))
    if module is not None and find_spec(module) is None:
        text = f"{mechanism} needs the Python package {module}: pip install 'tsproxy[{extra}]'"
        problems.append(Problem(parsed.place, f"{parsed.path}.mechanism", text))
    return Sasl(mechanism, form.make(parsed)) if len(problems) == before else None


def _described(mechanism: SaslMechanism, form: _Form) -> str:
    return f"mechanism {mechanism}, which takes {_keys(form)}"


def _keys(form: _Form) -> str:
    needed = " and ".join(form.needs)
    optional = " and ".join(form.may_have)
    if not optional:
        return needed
    return f"{needed} (and may have {optional})" if needed else f"only {optional}"

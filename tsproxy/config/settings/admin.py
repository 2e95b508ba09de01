"""`admin`: the port that shows the state of the proxy, and who may read it."""

from collections.abc import Collection
from dataclasses import dataclass

from tsproxy.config.keys import fixed, live, section
from tsproxy.config.kinds import BIND, HOST, TOKEN, or_word
from tsproxy.config.settings.listeners import ServerTls
from tsproxy.config.values import Secret
from tsproxy.model.addresses import Address


@dataclass(frozen=True, slots=True, kw_only=True)
class AdminSettings:
    bind: Address | None = fixed(
        or_word(BIND, "off"),
        "The address of the status page (`/`), `/metrics`, `/livez`, `/readyz`, `/config`, `/brokers` "
        "and `/decisions/top`. Everybody who can connect may read them, unless `token` is given, or "
        "`tls.client_ca` with `client_auth: required` (the default).",
        default="127.0.0.1:9464",
    )
    hosts: tuple[str, ...] = live(
        HOST,
        "Host names that a browser may use for them, besides addresses, `localhost` and the host of "
        "`admin.bind`; scrapes and probes may use any.",
        default=None,
        many=True,
    )
    token: Secret | None = live(
        TOKEN,
        "Readers must send this token: as a bearer token, or as the password in a browser.",
        default=None,
    )
    tls: ServerTls | None = section(ServerTls, optional="Readers use TLS if this section is present.")

    @property
    def own_names(self) -> Collection[str]:
        """The hosts that a browser may use besides addresses and localhost."""
        return (*([self.bind.host] if self.bind else []), *self.hosts)

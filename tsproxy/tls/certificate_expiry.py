"""When the certificates of a configuration expire, and the notices of `tsproxy check` about that.

A running proxy logs the same once a day, and has a metric for it (`reload.certificates`).
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tsproxy.config.problems import Problem
from tsproxy.config.settings import Config, ServerTls, UpstreamTls
from tsproxy.config.values import instant_text
from tsproxy.model.words import many
from tsproxy.tls.x509 import Signed, read_crls, read_pem
from tsproxy.wire.primitives import DecodeError

_SETTINGS: Final = ("certificate", "key", "client_ca", "client_crl", "ca")
CRL: Final = "_crl"
"""The end of the names of settings for certificate revocation lists."""

WARNED_EARLY_S: Final = 30 * 86_400.0
"""A warning begins this long before a certificate's expiry, or in the last quarter of its life if that is
later. Otherwise a certificate that is replaced every day would always cause a warning."""


@dataclass(frozen=True, slots=True)
class End:
    """When the certificates of one file expire, and when to warn first."""

    setting: str
    file: Path
    subject: str
    expires_s: float
    warn_s: float
    begins_s: float


def ends_of(
    files: Mapping[str, Path], content_of: Callable[[Path], bytes] = Path.read_bytes
) -> Iterator[End]:
    """The expiry of each file. A chain expires with the first of its certificates that expires. A file of
    revocation lists expires with the first of its lists, since clients of that authority are then rejected.
    A list of authorities expires with its last certificate."""
    for setting, file in files.items():
        if setting.endswith(".key"):
            continue
        choose: Callable[..., Signed] = max if setting.endswith("ca") else min
        read = read_crls if setting.endswith(CRL) else read_pem
        try:
            signed = read(content_of(file))
        except (OSError, DecodeError):  # OpenSSL has accepted the file: no reason to reject it
            continue
        if signed:
            first = choose(signed, key=lambda part: part.not_after_s)
            begins_s, expires_s = first.not_before_s, first.not_after_s
            warn_s = expires_s - min(WARNED_EARLY_S, (expires_s - begins_s) / 4)
            yield End(setting, file, first.subject, expires_s=expires_s, warn_s=warn_s, begins_s=begins_s)


def certificate_notices(config: Config, now_ms: int) -> Iterator[Problem]:
    """Notices about certificates that are expired, expire soon, or are not valid yet, in usable files."""
    now_s = now_ms / 1000
    sections = [*(listener.tls for listener in config.listeners), config.upstream.tls, config.admin.tls]
    files = [files_of(tls, tls.place) for tls in sections if tls is not None]
    for end in ends_of({setting: file for section in files for setting, file in section.items()}):
        place, _, key = end.setting.rpartition(": ")
        who = f"{end.file} ({end.subject})"
        at_text = instant_text(round(end.expires_s * 1000))
        if end.expires_s <= now_s:
            yield Problem(place, key, f"{who} expired at {at_text}: renew it")
        elif end.begins_s > now_s:
            begins_text = instant_text(round(end.begins_s * 1000))
            yield Problem(
                place, key, f"{who} is not valid before {begins_text}: wait, or set this clock right"
            )
        elif end.warn_s <= now_s:
            days = int((end.expires_s - now_s) // 86_400)
            yield Problem(place, key, f"{who} ends at {at_text}, in {many(days, 'day')}: renew it")


def files_of(tls: ServerTls | UpstreamTls, section: str) -> dict[str, Path]:
    """The files of a section by the names of their settings."""
    files = {name: getattr(tls, name, None) for name in _SETTINGS}
    return {f"{section}.{name}": file for name, file in files.items() if file is not None}

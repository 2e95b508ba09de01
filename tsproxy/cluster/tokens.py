"""`token_provider`: the tokens with which the proxy's own connection logs in (OAUTHBEARER).

A token comes from a file, from an issuer's endpoint, or from AWS's signer. Each may need some time, so a
thread fetches the token. A token is used again until shortly before it expires.

Sources: KIP-768 (client credentials as Kafka's own clients request them), RFC 6749 section 4.4.
"""

import asyncio
import base64
import contextlib
import json
import re
import ssl
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from http.client import HTTPException, responses
from pathlib import Path
from typing import Any, Final
from urllib.error import HTTPError, URLError
from urllib.parse import quote_plus, urlencode
from urllib.request import HTTPRedirectHandler, HTTPSHandler, ProxyHandler, Request, build_opener, getproxies

from aiokafka.abc import AbstractTokenProvider

from tsproxy.clock import Clock
from tsproxy.config.settings import ClientCredentials, MskIam, TokenFile
from tsproxy.tls.contexts import trust

ANSWER_S: Final = 10.0
"""How long to wait for an issuer's answer."""
MAX_BYTES: Final = 1 << 18
"""The largest answer of an issuer, and the largest token file."""
REJECTED_MS: Final = 10_000
"""How long a token is used at least, also if brokers do not accept it, and again while its issuer is away."""
_RENEWED_AT: Final = 0.8
"""The part of a token's lifetime after which it is fetched again, like Kafka's
`sasl.login.refresh.window.factor`."""

_TOKEN: Final = re.compile(r"[!-~]+")

TokenSource = TokenFile | ClientCredentials | MskIam


class TokenError(OSError):
    """No token could be fetched. The text says why and holds no secret. It is an OSError because aiokafka
    treats an OSError as a failed connection and tries again."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token and its lifetime. `lasts_ms` is None if the lifetime is unknown. Such a token is fetched anew
    for each login."""

    text: str
    lasts_ms: int | None = None


class TokenProvider(AbstractTokenProvider):  # type: ignore[misc]  # aiokafka carries no types
    """Provides tokens to aiokafka, which calls `token` at each login."""

    def __init__(self, fetch: Callable[[], Token], clock: Clock) -> None:
        self._fetch = fetch
        self._clock = clock
        self._token = ""
        self._expires_at_ms = 0
        self._renew_at_ms = 0
        self._requested_at_ms = 0
        self._renewal: asyncio.Task[None] | None = None

    async def token(self) -> str:
        """The current token. Raises TokenError. Connections that call this at the same time share one
        answer."""
        if not self._token or self._clock.monotonic_ms() >= self._renew_at_ms:
            loop = asyncio.get_running_loop()
            if self._renewal is None or self._renewal.get_loop() is not loop:
                self._renewal = loop.create_task(self._renew())
                self._renewal.add_done_callback(self._has_renewed)
            await asyncio.shield(self._renewal)
        return self._token

    def forget(self) -> None:
        """Fetch another token for the next login, since brokers may not accept this one, but not at each of
        their answers."""
        self._renew_at_ms = min(self._renew_at_ms, self._requested_at_ms + REJECTED_MS)

    async def _renew(self) -> None:
        requested_at_ms = self._clock.monotonic_ms()
        try:
            token = await _in_a_thread_of_its_own(self._fetch)
        except TokenError:
            now_ms = self._clock.monotonic_ms()
            if now_ms >= self._expires_at_ms:
                raise
            self._requested_at_ms = now_ms
            self._renew_at_ms = min(now_ms + REJECTED_MS, self._expires_at_ms)
            return
        self._token, self._requested_at_ms = token.text, requested_at_ms
        self._expires_at_ms = requested_at_ms + (token.lasts_ms or 0)
        self._renew_at_ms = requested_at_ms + int(_RENEWED_AT * (token.lasts_ms or 0))

    def _has_renewed(self, renewal: asyncio.Task[None]) -> None:
        self._renewal = None
        if not renewal.cancelled():
            renewal.exception()  # callers that wait get the error; if no caller waits, asyncio would log it


async def _in_a_thread_of_its_own(fetch: Callable[[], Token]) -> Token:
    """The result of `fetch`. An issuer may not answer for a long time. It must then block neither the loop's
    threads, which also look up host names, nor the exit of the process."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Token] = loop.create_future()

    def settle(set_it: Callable[[], None]) -> None:
        if not future.done():
            set_it()

    def run() -> None:
        resolve: Callable[[], None]
        try:
            resolve = partial(future.set_result, fetch())
        except BaseException as error:  # the caller that waits handles it
            resolve = partial(future.set_exception, error)
        with contextlib.suppress(RuntimeError):  # the loop is closed: the process ends
            loop.call_soon_threadsafe(settle, resolve)

    threading.Thread(target=run, name="token", daemon=True).start()
    return await future


@lru_cache(maxsize=8)
def token_provider(source: TokenSource) -> TokenProvider:
    """One provider for all connections with the same login, so that they share a token."""
    match source:
        case TokenFile():
            fetch = partial(_from_file, source.path)
        case ClientCredentials():
            fetch = partial(_from_endpoint, source)
        case MskIam():
            fetch = partial(_from_msk_signer, source)
    return TokenProvider(fetch, Clock())


def _from_file(path: Path) -> Token:
    try:
        with path.open("rb") as file:
            text = file.read(MAX_BYTES).decode("ascii").strip()
    except OSError as error:
        raise TokenError(f"the token file {path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError:
        raise TokenError(f"the token file {path} holds no token") from None
    return Token(_checked(text, f"the token file {path}"))


def _from_endpoint(source: ClientCredentials) -> Token:
    """The token that the issuer's endpoint returns. The request is like that of Kafka's
    `HttpAccessTokenRetriever`: it has the client's id and secret in a Basic header."""
    form = {"grant_type": "client_credentials"}
    if source.scope is not None:
        form["scope"] = source.scope
    # RFC 6749, 2.3.1: both are form-encoded before they are joined.
    pair = f"{quote_plus(source.client_id)}:{quote_plus(source.client_secret.reveal())}"
    request = Request(  # noqa: S310  # config.values.url accepts only http and https
        source.endpoint,
        data=urlencode(form).encode(),
        headers={
            "Authorization": "Basic " + base64.b64encode(pair.encode()).decode(),
            "Accept": "application/json",
        },
    )
    return _token_of(_answer_to(request, source), source.endpoint)


class _NoRedirect(HTTPRedirectHandler):
    """Follows no redirect, so that the secret goes only to the configured endpoint."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


def _answer_to(request: Request, source: ClientCredentials) -> bytes:
    try:
        # Not Python's default context: from 3.13 on, it rejects an authority whose certificates lack key
        # identifiers. One that `upstream.tls` accepts shall do for the issuer, too.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        trust(context, source.ca)
        # An HTTP proxy from the environment cannot read a TLS connection, but it could read a plain one.
        proxies = {scheme: proxy for scheme, proxy in getproxies().items() if scheme == "https"}
        opener = build_opener(HTTPSHandler(context=context), _NoRedirect, ProxyHandler(proxies))
        with opener.open(request, timeout=ANSWER_S) as answer:
            return bytes(answer.read(MAX_BYTES))
    except HTTPError as error:
        raise TokenError(f"{source.endpoint} answered {error.code}: {_reason(error)}") from None
    except URLError as error:
        raise TokenError(f"{source.endpoint} cannot be asked for a token: {error.reason}") from None
    except OSError as error:
        raise TokenError(f"{source.endpoint} cannot be asked for a token: {error}") from None
    except HTTPException as error:  # its text may be what the other side sent
        why = type(error).__name__
        raise TokenError(f"{source.endpoint} gave an answer that is not HTTP, or not whole: {why}") from None


def _reason(error: HTTPError) -> str:
    """The issuer's reason: the field `error`, which is one of a few words (RFC 6749, 5.2), or else the
    meaning of the HTTP status. The rest of the answer is not shown."""
    meaning = responses.get(error.code, "an unknown status")
    try:
        answer = json.loads(error.read(MAX_BYTES))
    except (OSError, HTTPException, ValueError, RecursionError):
        return meaning
    word = answer.get("error") if isinstance(answer, Mapping) else None
    is_word = isinstance(word, str) and len(word) <= 50 and word.isascii() and word.isprintable()
    return word if isinstance(word, str) and is_word else meaning


def _token_of(answer: bytes, endpoint: str) -> Token:
    try:
        fields = json.loads(answer)
        text = fields["access_token"]
        lasts_s = fields.get("expires_in")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise TokenError(f"{endpoint} answered without an access_token") from None
    is_known = isinstance(lasts_s, int) and 0 < lasts_s < 1 << 31
    return Token(_checked(text, endpoint), 1_000 * lasts_s if is_known else None)


def _checked(text: object, source: str) -> str:
    """The token, if it has no blank and no control character, since RFC 7628 gives these a meaning."""
    if not isinstance(text, str) or _TOKEN.fullmatch(text) is None:
        raise TokenError(f"{source} holds no token: one word of printable ASCII is needed")
    return text


def _from_msk_signer(source: MskIam) -> Token:
    """AWS's own signer makes the token, a signed request for `kafka-cluster:Connect`."""
    from aws_msk_iam_sasl_signer.MSKAuthTokenProvider import (  # an extra: tsproxy[msk]
        generate_auth_token,
        generate_auth_token_from_profile,
        generate_auth_token_from_role_arn,
    )

    try:
        if source.role_arn is not None:
            text, ends_ms = generate_auth_token_from_role_arn(source.region, source.role_arn)
        elif source.profile is not None:
            text, ends_ms = generate_auth_token_from_profile(source.region, source.profile)
        else:
            text, ends_ms = generate_auth_token(source.region)
    except Exception as error:  # botocore has some fifty kinds; each means that there is no token
        raise TokenError(f"AWS gives no credentials for MSK: {type(error).__name__}") from error
    return Token(_checked(text, "AWS's signer"), max(0, int(ends_ms) - Clock().now_ms()))

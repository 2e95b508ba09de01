"""A page on the Internet cannot read the admin port through a browser of somebody inside (DNS rebinding)."""

from http import HTTPStatus

import pytest

from tests.config.files import SMALLEST, config_of, problems_of
from tests.proxy.test_admin_http import ask as get
from tsproxy.config.settings import AdminSettings
from tsproxy.model.addresses import Address
from tsproxy.proxy.admin.hosts import MAX_SHOWN
from tsproxy.proxy.admin.http import Answer

PAGES = {
    path: lambda: Answer(HTTPStatus.OK, b"the page\n") for path in ("/", "/livez", "/metrics", "/config")
}
BROWSER = (
    "User-Agent: Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
    "Accept: */*",
    "Accept-Language: en-US,en;q=0.5",
    "Accept-Encoding: gzip, deflate",
)
PROMETHEUS = (
    "User-Agent: Prometheus/3.5.0",
    "Accept: application/openmetrics-text;version=1.0.0;q=0.6,text/plain;version=0.0.4;q=0.5,*/*;q=0.2",
    "Accept-Encoding: gzip",
    "X-Prometheus-Scrape-Timeout-Seconds: 10",
)
KUBELET = ("User-Agent: kube-probe/1.33", "Accept: */*", "Connection: close")
CURL = ("User-Agent: curl/8.14.1", "Accept: */*")


@pytest.fixture
async def ask(serve):
    async def asked(*headers, bind="127.0.0.1", hosts=(), path="/config"):
        settings = AdminSettings(bind=Address(bind, 0), hosts=hosts)
        return (await get(serve(PAGES, settings), path, *headers))[::2]

    return asked


@pytest.mark.parametrize("path", sorted(PAGES))
@pytest.mark.parametrize(
    "host", ["evil.example:9464", "evil.example", "localhost.evil.example:9464", "evil:9464"]
)
async def test_a_browser_that_asks_under_a_strangers_name_is_told_nothing(ask, host, path):
    """The headers of a script's fetch() to its own origin: no Origin, and over plain HTTP no Sec-Fetch."""
    status, body = await ask(f"Host: {host}", *BROWSER, path=path)
    assert status == 421
    assert "the page" not in body
    assert "admin.hosts" in body
    assert repr(host.partition(":")[0]) in body


MARKS = [
    "user-agent: Mozilla/5.0",
    "Accept-Language: *",
    "accept-language:",
    "Origin: http://evil.example:9464",
    "Referer: http://evil.example:9464/",
    "Sec-Fetch-Site: same-origin",
    "Cookie: a=b",
]


@pytest.mark.parametrize("mark", MARKS)
async def test_one_mark_of_a_browser_is_enough(ask, mark):
    """A script may leave out or change some of them, never all: Accept-Language is then the browser's own."""
    assert (await ask("Host: evil.example:9464", mark))[0] == 421


OWN_NAMES = [
    "127.0.0.1:9464",
    "10.1.2.3",
    "[::1]:9464",
    "[2001:db8::7]",
    "localhost:9464",
    "LOCALHOST.",
    "a.localhost",
]


@pytest.mark.parametrize("host", OWN_NAMES)
async def test_a_browser_may_ask_by_an_address_and_by_localhost(ask, host):
    assert await ask(f"Host: {host}", *BROWSER) == (200, "the page\n")


async def test_a_browser_may_ask_by_the_name_that_is_bound_and_by_those_that_are_configured(ask):
    hosts = ("proxy.example.com", "tsproxy")
    for name in ("Admin.Example.com:9464", "proxy.example.com.", "TSPROXY:9464"):
        assert await ask(f"Host: {name}", *BROWSER, bind="admin.example.com", hosts=hosts) == (
            200,
            "the page\n",
        )


@pytest.mark.parametrize(
    "client", [PROMETHEUS, KUBELET, CURL, ()], ids=["prometheus", "kubelet", "curl", "bare"]
)
@pytest.mark.parametrize(
    "host", ["tsproxy.kafka.svc:9464", "proxy-1.example.com:9464", "10.42.0.17:9464", "tsproxy"]
)
async def test_scrapes_and_probes_ask_by_whatever_name_they_have(ask, client, host):
    """Nobody can make them ask: they run no page of a stranger's."""
    assert await ask(f"Host: {host}", *client, path="/metrics") == (200, "the page\n")


async def test_a_request_without_a_host_is_answered(ask):
    assert (await ask())[0] == 200


@pytest.mark.parametrize("host", ["", "evil.example:x", "[::1", "[evil.example]", "a b", "\x80", "h" * 5_000])
async def test_a_host_that_is_none_is_a_strangers_and_told_in_short(ask, host):
    status, body = await ask(f"Host: {host}", *BROWSER)
    assert status == 421
    assert body.isascii()
    assert len(body) < MAX_SHOWN + 400


async def test_of_two_hosts_none_is_believed(ask):
    assert (await ask("Host: localhost", "Host: evil.example", *BROWSER))[0] == 421


def test_names_are_configured_as_a_list():
    config = config_of(SMALLEST + "admin: { hosts: [Proxy.Example.com, tsproxy] }\n")
    assert config.admin.hosts == ("Proxy.Example.com", "tsproxy")
    [told] = problems_of(SMALLEST + "admin: { hosts: ['http://proxy:9464'] }\n")
    assert "admin.hosts: 'http://proxy:9464' is not allowed; must be a host name or an address" in told

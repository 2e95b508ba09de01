"""Which patterns are taken, and that none of them can keep the loop busy with a name made for it."""

import pickle
import sys

import pytest

from tsproxy.config.patterns import MAX_CHARACTERS, name_pattern, principal_pattern, topic_pattern
from tsproxy.model.principals import MAX_SUBJECT

ONCE_REJECTED = [
    *("(a+)+", "(a|aa)+", "(.*,)*x", "(a?){30}", "((ab?)*c)*", "([a-z]+-?)+", "(?:(?P<n>a)|b){2,}"),
    *(".*.*.*.*", "a?" * 30 + "a" * 30, "(eu|us|ap|sa)-.*-.*-.*", "[0-9]+(,[0-9]+){5}", "/.*-.*-.*-eu/"),
]
"""Expressions for which Python's engine could take years."""

TAKEN = [
    *(
        "",
        "()",
        "orders-[0-9]+",
        "(eu|us)-.*-v[0-9]+",
        r"v[0-9]+(\.[0-9]+){2}",
        "(abc)+",
        "(a{3})+",
        "((a))*",
        "(" * 1000 + ")" * 1000,
    ),
    *(
        "[^]]*",
        "[]a]+",
        r"\(+\[*",
        "a*?",
        "x{",
        "a{,3}b{2,}",
        "(?i:a)b*",
        "(?i)abc",
        "(?P<n>a)",
        "a|b+|c*",
        r"\\+",
    ),
]
NOT_TAKEN = [
    *(
        "a(",
        "+",
        "[",
        "a**",
        "(a{1000}){1000}",
        "[a-z]{1001}",
    ),
    *("(?=a)b", "(?!a)b", "(?<=a)b", r"(a)\1", "(?P=n)", "(?x)a +b", "a*+", "(?>a)", r"a\Z"),
]
"""RE2 has no looking around, references back, atomic groups, and `(?x)`."""


def parsed(regex):
    return name_pattern(f"/{regex}/")


@pytest.mark.parametrize("regex", [*TAKEN, *ONCE_REJECTED])
def test_any_regular_expression_is_taken_that_the_engine_reads(regex):
    assert parsed(regex).text == f"/{regex}/"


@pytest.mark.parametrize("regex", NOT_TAKEN)
def test_what_the_engine_cannot_read_is_told(regex):
    with pytest.raises(ValueError, match="a regular expression that RE2 can read"):
        parsed(regex)


@pytest.mark.parametrize(("regex", "ascii_only"), [(r"\d", "7٣"), (r"\w", "aж"), (r"\s", " \u00a0")])
def test_classes_of_characters_are_ascii(regex, ascii_only):
    assert [parsed(regex).fits(each) for each in ascii_only] == [True, False]


@pytest.mark.parametrize("regex", ONCE_REJECTED)
def test_no_name_keeps_a_regular_expression_busy(regex):
    """Each of these would still run when this test had ended."""
    pattern = parsed(regex)
    for name in ("a" * MAX_CHARACTERS, "a-" * 124, "," * MAX_CHARACTERS, "0," * 124):
        pattern.fits(name[:-1] + "\n")


def test_a_name_with_bytes_that_are_no_text_fits_or_not():
    name = b"app-\xff".decode("utf-8", "surrogateescape")
    assert parsed("app-.*").fits(name)
    assert not parsed("app-[a-z]").fits(name)
    assert not parsed("app-[a-z]").fits("app-\ud800")
    assert parsed("app-.*").fits("app-ж")
    assert name_pattern("app-*").fits(name)


def test_patterns_are_equal_and_survive_the_way_to_a_worker():
    """A reload compares configurations, and a worker gets them pickled."""
    assert parsed("a+") == parsed("a+") != parsed("b+")
    sent = pickle.loads(pickle.dumps(parsed("a+")))
    assert sent == parsed("a+")
    assert sent.fits("aaa")


def test_without_the_engine_the_error_says_what_to_install_and_what_to_write_instead(monkeypatch):
    monkeypatch.setitem(sys.modules, "re2", None)
    with pytest.raises(ValueError, match=r"pip install google-re2.*globs such as orders-\*"):
        parsed("orders-[0-9]+")
    assert name_pattern("orders-*").fits("orders-1")


@pytest.mark.parametrize("text", ["/orders-(eu|us)/", "/orders-eu|orders-us/", "orders-[eu][us]"])
def test_a_pattern_fits_the_whole_name_or_not_at_all(text):
    pattern = name_pattern(text)
    assert [pattern.fits(name) for name in ("orders-eu", "orders-us")] == [True, True]
    for name in ("orders-eu-1", "my-orders-us", "orders-eu\n", "\norders-us", "Orders-eu", "orders-e", ""):
        assert not pattern.fits(name), name


def test_a_name_longer_than_topics_names_fits_no_regular_expression_but_globs():
    names = ["a" * MAX_CHARACTERS, "a" * (MAX_CHARACTERS + 1)]
    assert [parsed("a*").fits(name) for name in names] == [True, False]
    assert [name_pattern("a*").fits(name) for name in names] == [True, True]


@pytest.mark.parametrize("characters", [30, 249, 250, 900, MAX_SUBJECT])
def test_globs_and_regular_expressions_fit_the_same_principals_up_to_the_longest_subject(characters):
    principal = f"User:CN={'x' * (characters - 18)},O=partners,C=DE"[: len("User:") + characters]
    for glob, regex in (("User:CN=*,O=*", "/User:CN=.*,O=.*/"), ("User:*", "/User:.*/")):
        fits = [principal_pattern(text).fits(principal) for text in (glob, regex)]
        assert fits == [True, True]


def test_a_glob_is_over_soon_whatever_the_name():
    assert not name_pattern("*a" * 100 + "b").fits("a" * 32_000)


MAY_FIT = [
    *((principal_pattern, text) for text in ("User:etl", "User:*", "*", "Us*", "?ser:etl", "[UG]*", "/etl/")),
    *(
        (topic_pattern, text)
        for text in ("orders-*", "[a-c]?.x_1", "__*", "[!a]x", "[!]]", "[]a]", "[]!_]", "/orders (eu|us)/")
    ),
]
FITS_NONE = [
    *((principal_pattern, text) for text in ("etl", "user:etl", "Users:*", "Group:*", "User")),
    *(
        (topic_pattern, text)
        for text in (
            "orders eu",
            "orders,clicks",
            "orders/eu",
            "/a(/",
            "[a",
            "!a",
            "a!",
            "a]",
            "[ ,]",
            "[!]",
            "a[z-a]",
        )
    ),
]


@pytest.mark.parametrize(("pattern", "text"), MAY_FIT)
def test_a_pattern_that_may_fit_a_principal_or_a_topic_is_taken(pattern, text):
    assert pattern(text).text == text


@pytest.mark.parametrize(("pattern", "text"), FITS_NONE)
def test_one_that_fits_none_is_rejected(pattern, text):
    told = "begin with User:" if pattern is principal_pattern else r"as topics are called|can read"
    with pytest.raises(ValueError, match=told):
        pattern(text)

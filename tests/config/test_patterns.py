"""Which patterns are taken, and that none of them can keep the loop busy with a name made for it."""

import pytest

from tsproxy.config.patterns import MOST_CHARACTERS, name_pattern, principal_pattern, topic_pattern

EXPLODING = ["(a+)+", "(a|aa)+", "(.*,)*x", "(a?){30}", "((ab?)*c)*", "([a-z]+-?)+", "(?:(?P<n>a)|b){2,}"]
LONG = [".*.*.*.*", "a?" * 30 + "a" * 30, "(eu|us|ap|sa)-.*-.*-.*", "[0-9]+(,[0-9]+){5}"]
SHORT = [
    *(
        "",
        "()",
        "orders-[0-9]+",
        "(eu|us)-.*-v[0-9]+",
        r"v[0-9]+(\.[0-9]+){2}",
        "(abc)+",
        "(a{3})+",
        "((a))*",
    ),
    *("[^]]*", "[]a]+", r"\(+\[*", "a*+", "a*?", "x{", "a{,3}b{2,}", "(?i:a)b*", "(?=a+)b", "(?i)abc"),
    *("((a))*", "(?P<n>a)(?P=n)?", "a|b+|c*", "(?#c)a", r"\\+"),
]


def parsed(regex):
    return name_pattern(f"/{regex}/")


@pytest.mark.parametrize("regex", EXPLODING)
def test_one_that_could_take_for_ever_is_rejected(regex):
    with pytest.raises(ValueError, match="repeats nothing which itself varies"):
        parsed(regex)


@pytest.mark.parametrize("regex", LONG)
def test_one_that_could_take_too_long_is_rejected(regex):
    with pytest.raises(ValueError, match="fewer open ends"):
        parsed(regex)


@pytest.mark.parametrize("regex", SHORT)
def test_what_is_over_soon_is_taken(regex):
    assert parsed(regex).text == f"/{regex}/"


@pytest.mark.parametrize("regex", ["a(", "a{99999999999999999999}", "(" * 3000 + ")" * 3000, "+", "[", "a**"])
def test_what_is_no_regular_expression_is_told(regex):
    with pytest.raises(ValueError, match="that can be read"):
        parsed(regex)


def test_a_name_longer_than_topics_names_fits_no_regular_expression_but_globs():
    names = ["a" * MOST_CHARACTERS, "a" * (MOST_CHARACTERS + 1)]
    assert [parsed("a*").fits(name) for name in names] == [True, False]
    assert [name_pattern("a*").fits(name) for name in names] == [True, True]


def test_a_glob_is_over_soon_whatever_the_name():
    assert not name_pattern("*a" * 100 + "b").fits("a" * 32_000)


@pytest.mark.parametrize("text", ["User:etl", "User:*", "*", "Us*", "?ser:etl", "[UG]*", "/etl/"])
def test_a_pattern_that_may_fit_a_principal_is_taken(text):
    assert principal_pattern(text).text == text


@pytest.mark.parametrize("text", ["etl", "user:etl", "Users:*", "Group:*", "User"])
def test_one_that_fits_no_principal_is_rejected(text):
    with pytest.raises(ValueError, match="begin with User:"):
        principal_pattern(text)


@pytest.mark.parametrize("text", ["orders eu", "orders,clicks", "orders/eu", "/a(/"])
def test_one_that_fits_no_topic_is_rejected(text):
    with pytest.raises(ValueError, match=r"as topics are called|can be read"):
        topic_pattern(text)


@pytest.mark.parametrize("text", ["orders-*", "[a-c]?.x_1", "__*", "/orders (eu|us)/"])
def test_one_that_may_fit_a_topic_is_taken(text):
    assert topic_pattern(text).text == text

"""Kafka's `ssl.principal.mapping.rules`; the cases are those of Kafka's documentation and its own tests."""

import pytest

from tsproxy.model.principals import MAX_SUBJECT, MappingRule, principal_of

DUKE = "CN=Duke,OU=ServiceUsers,O=Org,C=US"

MAPPED = [
    ([], DUKE, f"User:{DUKE}"),
    (["DEFAULT"], DUKE, f"User:{DUKE}"),
    (["RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/"], DUKE, "User:Duke"),
    (["RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/L"], DUKE, "User:duke"),
    (["RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/U"], DUKE, "User:DUKE"),
    (
        ["RULE:^CN=(.*?), *OU=(.*?), *O=(.*?), *C=(.*?)$/$1@$2/L"],
        "CN=Duke, OU=SME, O=mycp, C=US",
        "User:duke@sme",
    ),
    (
        ["RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/L", "DEFAULT"],
        "OU=Admin,CN=Kafka.Admin,O=Org",
        "User:kafka.admin",
    ),
    (
        ["RULE:^cn=(.*?),ou=(.*?),dc=(.*?),dc=(.*?)$/$1@$2/U"],
        "cn=kafka1,ou=SME,dc=mycp,dc=com",
        "User:KAFKA1@SME",
    ),
    (["RULE:^CN=other$/x/", "DEFAULT"], DUKE, f"User:{DUKE}"),
    (["RULE:^CN=other$/x/", "RULE:^CN=(.*?),.*$/second-$1/"], DUKE, "User:second-Duke"),
    (["RULE:^CN=other$/x/"], DUKE, None),
    (["RULE:CN=Duke/x/"], DUKE, None),  # the whole subject must match
    (["RULE:^CN=(.*?),.*$/\\$1\\/$1/"], DUKE, "User:$1/Duke"),
    (["RULE:^(CN=a\\/b)$/$1/"], "CN=a/b", "User:CN=a/b"),
    (["RULE:^(x)?CN=(.*?),.*$/$1$2/"], DUKE, "User:Duke"),  # a group that took no part is empty
    (["RULE:^CN=(.*?),.*$//", "DEFAULT"], DUKE, "User:"),
    (["RULE:^\\[?(CN=[\\[a&]*).*$/$1/"], "CN=a[&b", "User:CN=a[&"),  # a class with a bracket, and none in it
    (["RULE:(.*)/$1;/"], "CN=a", "User:CN=a;;"),  # `replaceAll` finds the empty end, too
]


@pytest.mark.parametrize(("rules", "subject", "principal"), MAPPED)
def test_the_first_rule_that_matches_the_whole_subject_makes_the_principal(rules, subject, principal):
    assert principal_of(subject, [MappingRule.parse(rule) for rule in rules]) == principal


@pytest.mark.parametrize(
    ("rule", "allowed"),
    [
        ("", "DEFAULT, or RULE:"),
        ("default", "DEFAULT, or RULE:"),
        ("RULE:^CN=(.*?)$", "DEFAULT, or RULE:"),
        ("RULE:^CN=(.*?)$/$1", "DEFAULT, or RULE:"),
        ("RULE:^CN=(.*?)$/$1/X", "DEFAULT, or RULE:"),
        ("RULE:^CN=(.*?$/$1/", "a regular expression: missing \\)"),
        *[
            (f"RULE:^CN=({each}+).*$/$1/", "without \\[ or && in a class")
            for each in ("[a[bc]]", "[a-z&&[^b]]")
        ],
        ("RULE:^CN=(.*?)$/$2/", "as many groups as its replacement names \\(2\\)"),
    ],
)
def test_a_rule_that_cannot_work_is_rejected_when_it_is_read(rule, allowed):
    with pytest.raises(ValueError, match=allowed):
        MappingRule.parse(rule)


@pytest.mark.parametrize("rules", [[], ["DEFAULT"], ["RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/L"]])
def test_a_subject_that_is_too_long_has_no_principal(rules):
    """Kafka's own example takes time that grows with the square of the length: 24 s for 100 KB."""
    parsed = [MappingRule.parse(rule) for rule in rules]
    longest = "CN=" + "a" * (MAX_SUBJECT - 3)
    assert principal_of(longest, parsed) is not None
    assert principal_of(longest + "a", parsed) is None


@pytest.mark.parametrize("end", ["\n", "\r", "\x85", "\u2028", "\u2029"])
def test_a_dot_takes_no_character_that_ends_a_line_as_in_java(end):
    """Kafka's own mapper, 4.3.1, was asked about each of these."""
    subject = f"CN=a{end}b,O=x"
    patterns = {
        "^CN=(.*?),.*$": None,
        "^CN=(.+?),O=x$": None,
        r"^CN=(a)\sb,.*$": "User:a" if end in "\n\r" else None,
        "^CN=([^,]*),.*$": f"User:a{end}b",
        r"^CN=([^.,\]]*),.*$": f"User:a{end}b",
        "(?s)^CN=(.*?),.*$": f"User:a{end}b",
    }
    rules = {pattern: MappingRule.parse(f"RULE:{pattern}/$1/") for pattern in patterns}
    assert {pattern: principal_of(subject, [rule]) for pattern, rule in rules.items()} == patterns
    assert [str(rule) for rule in rules.values()] == [f"RULE:{pattern}/$1/" for pattern in patterns]
    assert principal_of("CN=a.b,O=x", [MappingRule.parse(r"RULE:^CN=(a\.b),.*$/$1/")]) == "User:a.b"


@pytest.mark.parametrize("pattern", [r"CN=(\w+)", r"CN=([\w]+)", r"CN=(\d+)", r"CN=\b(.+)"])
def test_classes_of_letters_and_digits_are_ascii_as_in_java(pattern):
    rule = MappingRule.parse(f"RULE:^{pattern}$/$1/")
    assert principal_of("CN=ж", [rule]) is None
    assert principal_of("CN=7", [rule]) == "User:7"

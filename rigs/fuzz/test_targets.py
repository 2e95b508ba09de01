"""Each target holds for its seeds, for damaged ones, and for every input that once broke it."""

import re
from pathlib import Path
from random import Random

import pytest

from rigs.fuzz.corpora import found, stored
from rigs.fuzz.native import build
from rigs.fuzz.native.seeds import NATIVE, NOT_FED
from rigs.fuzz.planted import secrets
from rigs.fuzz.targets import TARGETS
from tests.session.logins import SECRET
from tsproxy import fastpath
from tsproxy.config.settings import Secret
from tsproxy.session import sasl
from tsproxy.wire import readers


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_holds_for_its_seeds_and_for_damaged_ones(name):
    random = Random(name)
    seeds = list(TARGETS[name].seeds())
    assert seeds
    TARGETS[name].check(b"")
    for seed in (*seeds[:40], *stored(name), *found(name)):
        TARGETS[name].check(seed)
        damaged = bytearray(seed)
        for _ in range(random.choice([1, 2, 8])):
            damaged[random.randrange(len(damaged))] = random.getrandbits(8)
        TARGETS[name].check(bytes(damaged[: random.randint(1, len(damaged))]))


def native_names():
    """The native functions and classes that the product gets from its two packages of readers."""
    for package in (readers, fastpath):
        for name, each in vars(package).items():
            if callable(each) and f"{package.__name__}._native" in (getattr(each, "__module__", None) or ""):
                yield name


def test_each_native_reader_has_a_target_or_the_reason_why_not():
    """A new reader is a question: what if a stranger's bytes are none that it knows?"""
    fed = [name for target in NATIVE.values() for name in target.feeds]
    assert len(set(fed)) == len(fed)
    assert {*fed, *NOT_FED} == set(native_names())
    assert not NOT_FED.keys() & set(fed)


def test_a_target_names_what_it_feeds():
    folder = Path(build.__file__).parent
    for name, target in NATIVE.items():
        text = (folder / f"{target.module}.pyx").read_text()
        for each in target.feeds:
            module = getattr(readers, each, None) or getattr(fastpath, each)
            assert re.search(rf"\b{each}\b", text) or f"from {module.__module__} cimport" in text, (
                name,
                each,
            )


CONFIGURATION, PLAIN = bytes([0, 0]), bytes([1, 1])


def test_a_configuration_that_shows_a_secret_is_found(monkeypatch):
    secrets(CONFIGURATION)
    monkeypatch.setattr(Secret, "__repr__", Secret.reveal)
    with pytest.raises(AssertionError, match="admin token as it is"):
        secrets(CONFIGURATION)


def test_a_login_that_shows_a_secret_is_found(monkeypatch):
    secrets(PLAIN)
    monkeypatch.setattr(sasl, "plain_name", lambda token: SECRET.decode())
    with pytest.raises(AssertionError, match="password as it is"):
        secrets(PLAIN)

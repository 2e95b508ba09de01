"""Each target holds for its seeds, for damaged ones, and for every input that once broke it."""

from random import Random

import pytest

from rigs.fuzz.corpora import found, stored
from rigs.fuzz.planted import secrets
from rigs.fuzz.targets import TARGETS
from tests.session.test_sasl import SECRET
from tsproxy.config.settings import Secret
from tsproxy.session import sasl


@pytest.mark.parametrize("name", TARGETS)
def test_a_target_holds_for_its_seeds_and_for_damaged_ones(name):
    random = Random(name)
    seeds = list(TARGETS[name].seeds())
    assert seeds
    for seed in (*seeds[:40], *stored(name), *found(name)):
        TARGETS[name].check(seed)
        damaged = bytearray(seed)
        for _ in range(random.choice([1, 2, 8])):
            damaged[random.randrange(len(damaged))] = random.getrandbits(8)
        TARGETS[name].check(bytes(damaged[: random.randint(1, len(damaged))]))


@pytest.mark.parametrize("name", TARGETS)
def test_nothing_is_no_special_case(name):
    TARGETS[name].check(b"")


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

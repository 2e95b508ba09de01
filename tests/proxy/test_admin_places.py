"""Who has a place at the admin port, and who leaves for a new connection."""

import pytest

from tsproxy.proxy.admin.places import MAX_CONNECTIONS, MAX_OF_AN_ADDRESS, Places


class Connections:
    """Connections at `places`; `left` has the numbers of those that had to leave."""

    def __init__(self):
        self.left = []
        self.places = Places()
        self._count = 0

    def come(self, address, *, waits=True):
        """A new connection; None if it gets no place."""
        place = self.places.take(address)
        if place is not None:
            number, self._count = self._count, self._count + 1
            place.leave = lambda: self.left.append(number)
            place.waits_for_client = waits
        return place


@pytest.fixture
def connections():
    return Connections()


def test_the_oldest_of_an_address_that_has_its_share_leaves_for_the_next(connections):
    for _ in range(MAX_OF_AN_ADDRESS + 2):
        assert connections.come("10.0.0.1")
    assert connections.left == [0, 1]


def test_a_connection_whose_page_is_made_stays(connections):
    connections.come("10.0.0.1", waits=False)
    for _ in range(MAX_OF_AN_ADDRESS):
        connections.come("10.0.0.1")
    assert connections.left == [1]


def test_a_share_of_pages_that_are_made_lets_no_more_of_this_address_in_and_all_others(connections):
    for _ in range(MAX_OF_AN_ADDRESS):
        connections.come("10.0.0.1", waits=False)
    assert connections.come("10.0.0.1") is None
    assert connections.come("10.0.0.2")
    assert connections.left == []


def test_with_all_places_taken_one_of_the_address_with_the_most_leaves(connections):
    connections.come("10.0.0.9")
    for address in range(4):
        for _ in range(MAX_OF_AN_ADDRESS - (address > 0)):
            connections.come(f"10.0.0.{address}")
    while len(connections.places) < MAX_CONNECTIONS:
        connections.come("10.0.0.8")
    assert connections.left == []
    assert connections.come("10.0.0.7")
    assert connections.left == [1], "the oldest of 10.0.0.0, not that of 10.0.0.9"


def test_an_address_with_one_connection_for_each_place_sends_the_oldest_away(connections):
    for number in range(MAX_CONNECTIONS):
        connections.come(f"10.0.0.{number}")
    connections.come("10.0.1.0")
    connections.come("10.0.1.1")
    assert connections.left == [0, 1]


def test_places_are_free_again(connections):
    places = [connections.come("10.0.0.1") for _ in range(MAX_OF_AN_ADDRESS)]
    for place in places:
        connections.places.free(place)
        connections.places.free(place)
    assert len(connections.places) == 0
    assert connections.come("10.0.0.1")
    assert connections.left == []

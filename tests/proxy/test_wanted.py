"""Questions about topics are shared out by client address, so that nobody can keep others from an answer."""

from tsproxy.proxy.brokers.wanted import MAX_ADDRESSES, MAX_OF_ADDRESS, PAUSES_MS, Wanted


def test_an_address_that_wants_very_much_takes_nothing_from_another():
    wanted = Wanted()
    assert sum(wanted.add(f"invented-{n}", "attacker", 0) for n in range(1_000)) == MAX_OF_ADDRESS
    assert wanted.add("real", "client", 0)
    assert "real" in wanted.take(0, 2)


def test_addresses_take_turns_from_question_to_question():
    wanted = Wanted()
    for address in "abc":
        for number in range(3):
            wanted.add(f"{address}{number}", address, 0)
    first = wanted.take(0, 2)
    wanted.known(first)
    second = wanted.take(0, 2)
    assert {each[0] for each in (*first, *second)} == {"a", "b", "c"}


def test_a_key_that_somebody_else_wants_too_does_not_wait_in_their_queue():
    wanted = Wanted()
    for number in range(MAX_OF_ADDRESS - 1):
        wanted.add(f"invented-{number}", "attacker", 0)
    wanted.add("real", "attacker", 0)
    wanted.add("real", "client", 0)
    assert "real" in wanted.take(0, 2)
    wanted.known(["real"])
    assert "real" not in wanted


def test_a_question_without_an_answer_is_repeated_as_long_as_requests_wait_and_then_dropped():
    wanted, now_ms = Wanted(), 0
    wanted.add("new", "client", now_ms)
    for pause_ms in PAUSES_MS:
        assert wanted.take(now_ms, 10) == ("new",)
        wanted.missed(["new"], now_ms)
        assert wanted.take(now_ms, 10) == ()
        now_ms += pause_ms
        assert wanted.due_ms == now_ms
    assert wanted.take(now_ms, 10) == ("new",)
    wanted.missed(["new"], now_ms)
    assert wanted.due_ms is None
    assert not len(wanted)


def test_the_number_of_addresses_is_bounded():
    wanted = Wanted()
    added = sum(wanted.add("new", f"192.0.2.{number}", 0) for number in range(2 * MAX_ADDRESSES))
    assert added == len(wanted) == MAX_ADDRESSES

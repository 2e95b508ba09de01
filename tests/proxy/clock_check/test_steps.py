"""A wall clock that is set is noticed; one that is led along is not."""

from tests.kit.clocks import HandClock
from tsproxy.proxy.clock_check.steps import Steps


def test_time_that_passes_is_no_step_however_long_nobody_looked():
    clock = HandClock()
    steps = Steps(clock)
    clock.ms += 86_400_000

    assert (steps.check(), steps.count) == (None, 0)


def test_a_clock_that_is_led_along_makes_no_step():
    clock = HandClock()
    steps = Steps(clock)
    for _ in range(1_000):
        clock.ms += 1_000
        clock.by_ms += 1
        assert steps.check() is None


def test_a_process_that_was_stopped_between_two_readings_sees_no_step():
    """The first reading is off by as long as it was stopped; the second one, at once after it, is not."""

    class Stopped(HandClock):
        stops_ms = 0

        def monotonic_ms(self):
            self.ms, self.stops_ms = self.ms + self.stops_ms, 0
            return self.ms

    clock = Stopped()
    steps = Steps(clock)
    clock.stops_ms = 10_000

    assert (steps.check(), steps.count) == (None, 0)

"""A wall clock that is set is noticed; one that is led along is not."""

from tsproxy.proxy.clock_check.steps import STEP_MS, Steps


class TwoHands:
    """A clock whose wall time and monotonic time are set apart."""

    def __init__(self):
        self.wall_ms, self.since_ms = 1_800_000_000_000, 5_000

    def now_ms(self):
        return self.wall_ms

    def monotonic_ms(self):
        return self.since_ms

    def pass_by(self, ms, *, wall_ms=None):
        self.since_ms += ms
        self.wall_ms += ms if wall_ms is None else wall_ms


def test_time_that_passes_is_no_step_however_long_nobody_looked():
    clock = TwoHands()
    steps = Steps(clock)
    clock.pass_by(86_400_000)

    assert (steps.check(), steps.count) == (None, 0)


def test_a_step_is_told_once_with_its_direction():
    clock = TwoHands()
    steps = Steps(clock)
    clock.pass_by(1_000, wall_ms=1_000 - 3_600_000)

    assert (steps.check(), steps.check(), steps.count) == (-3_600_000, None, 1)
    clock.pass_by(1_000, wall_ms=1_000 + STEP_MS)
    assert (steps.check(), steps.count) == (STEP_MS, 2)


def test_a_clock_that_is_led_along_makes_no_step():
    clock = TwoHands()
    steps = Steps(clock)
    for _ in range(1_000):
        clock.pass_by(1_000, wall_ms=1_001)
        assert steps.check() is None


def test_a_process_that_was_stopped_between_two_readings_sees_no_step():
    """The first reading is off by as long as it was stopped; the second one, at once after it, is not."""

    class Stopped(TwoHands):
        stops_ms = 0

        def monotonic_ms(self):
            self.pass_by(self.stops_ms)
            self.stops_ms = 0
            return self.since_ms

    clock = Stopped()
    steps = Steps(clock)
    clock.stops_ms = 10_000

    assert (steps.check(), steps.count) == (None, 0)

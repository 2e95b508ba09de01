"""Reports how long each waiver still lasts, as a metric and with an early warning.

This module does not end waivers. When a waiver ends, `session.policies` computes the topics' policies anew.
This module only informs operators before and after the end.
"""

from typing import Final

from tsproxy.clock import Clock
from tsproxy.config.settings import Config
from tsproxy.log_events.catalogue import WAIVER_ENDED, WAIVER_ENDS_SOON
from tsproxy.model.policy import Waiver
from tsproxy.proxy.metrics.catalogue import WAIVER_EXPIRY
from tsproxy.proxy.metrics.registry import Metrics
from tsproxy.proxy.wait import next_tick

POLL_INTERVAL_S: Final = 1.0
WARNED_EARLY_MS: Final = 7 * 86_400_000
WARN_AGAIN_MS: Final = 86_400_000


class Waivers:
    """The waivers of one configuration. A new configuration is logged anew."""

    def __init__(self, config: Config, metrics: Metrics, clock: Clock) -> None:
        self._clock = clock
        self._expiry = WAIVER_EXPIRY.gauge(metrics.registry)
        self._waivers = config.policy.waivers
        self._logged_ms: dict[Waiver, int] = {}

    def apply(self, config: Config) -> None:
        self._waivers = config.policy.waivers
        self.log_ends()

    async def watch(self) -> None:
        while True:
            self.log_ends()
            await next_tick(POLL_INTERVAL_S)

    def log_ends(self) -> None:
        """Set the metric. Warn once a day in a waiver's last week, and once after its end."""
        now_ms = self._clock.now_ms()
        self._expiry.clear()
        # A time that lies ahead is one of a wrong clock.
        self._logged_ms = {
            waiver: logged_ms
            for waiver, logged_ms in self._logged_ms.items()
            if waiver in self._waivers and logged_ms <= now_ms
        }
        for waiver in self._waivers:
            left_ms = waiver.until_ms - now_ms
            self._expiry.labels(waiver.name).set(left_ms / 1000)
            logged_ms = self._logged_ms.get(waiver)
            facts = {"waiver": waiver.name, "owner": waiver.owner, "reason": waiver.reason}
            if left_ms <= 0:
                if logged_ms is None or logged_ms < waiver.until_ms:
                    self._logged_ms[waiver] = now_ms
                    WAIVER_ENDED(**facts, place=waiver.place)
            elif left_ms <= WARNED_EARLY_MS and (logged_ms is None or now_ms >= logged_ms + WARN_AGAIN_MS):
                self._logged_ms[waiver] = now_ms
                WAIVER_ENDS_SOON(**facts, hours_left=left_ms // 3_600_000)

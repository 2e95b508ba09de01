"""The limits that security.md and policy.md promise are those of the code.

A test of a limit takes the limit from the code, so it stays green whatever the limit is. Here each promise is
written with the code's own figure.
"""

from pathlib import Path

import pytest

from tests.config.files import SMALLEST, config_of
from tsproxy.cluster.tokens import _RENEWED_AT
from tsproxy.config.patterns import MAX_CHARACTERS
from tsproxy.config.values import MAX_HELP
from tsproxy.fastpath import adaptive
from tsproxy.model.kafka import ABOUT_RECORDS
from tsproxy.model.names import NAME_CHARS
from tsproxy.model.policy import FAR_BEHIND_MS, HOUR_MS, PRESETS, Preset
from tsproxy.model.principals import MAX_SUBJECT
from tsproxy.proxy.admin.http import HEAD_S
from tsproxy.proxy.admin.places import MAX_CONNECTIONS, MAX_OF_AN_ADDRESS
from tsproxy.proxy.brokers.discovery import STAMPED_TOPICS
from tsproxy.proxy.clock_check import monitor
from tsproxy.proxy.clock_check.probe import TRIES
from tsproxy.proxy.clock_check.steps import STEP_MS
from tsproxy.proxy.custom_rules import SLOW_S
from tsproxy.proxy.dead_letters import drops, sender
from tsproxy.proxy.reload import certificates, waivers
from tsproxy.session.job import MAX_OBJECTS
from tsproxy.session.sasl_names import MAX_CLAIMS_BYTES
from tsproxy.session.topic_names import NAME_WAIT_MS
from tsproxy.tls.certificate_expiry import WARNED_EARLY_S
from tsproxy.wire.frames import SASL_FRAME

GUIDE = Path(__file__).parents[2] / "docs" / "guide"
S, MINUTE_S, DAY_MS = 1_000, 60, 86_400_000
WORDS = {1: "a", 2: "two", 3: "three", 4: "quarter", 7: "week", 10: "ten", 12: "dozen"}
CONFIG = config_of(SMALLEST)
AFTER_MS = {preset: settings.after.max_ms for preset, settings in PRESETS.items()}


def word(figure: float) -> str:
    """The figure as the pages write it in words."""
    return WORDS.get(figure, f"{figure:g}")


def said(text: str, figure: float, expected: float) -> str:
    """A text that has the expected figure in other words; another text if the code has another figure."""
    return text if figure == expected else f"{text}, but it is {figure:g}"


PROMISED = {
    "security.md": [
        f"or has more than {MAX_SUBJECT} characters",
        said("The proxy checks the files every second", certificates.POLL_INTERVAL_S, 1),
        f"a warning comes {WARNED_EARLY_S * S / DAY_MS:.0f} days before the end",
        f"claims of more than {MAX_CLAIMS_BYTES >> 10} KiB",
        f"in frames of at most {SASL_FRAME >> 10} KiB",
        f"A token is used until {100 * _RENEWED_AT:.0f}% of its lifetime is over",
        f"The port serves {MAX_CONNECTIONS} connections, {MAX_OF_AN_ADDRESS} of them from one address",
        f"A request must come within {word(HEAD_S)} second.",
    ],
    "policy.md": [
        said(f"Rules see their first {MAX_CHARACTERS} characters", NAME_CHARS, MAX_CHARACTERS),
        f"The proxy reads the limits of brokers every {CONFIG.upstream.refresh_ms // S} s",
        f"waits {word(NAME_WAIT_MS / S)} second at most for its limits",
        f"timestamps of more than {word(FAR_BEHIND_MS / DAY_MS / 365)} years ago "
        f"(`{FAR_BEHIND_MS // DAY_MS}d`)",
        said("else one hour ahead (KIP-1030)", AFTER_MS[Preset.KAFKA_4], HOUR_MS),
        said("one hour ahead, and no limit for old records", AFTER_MS[Preset.KIP_937_DRAFT], HOUR_MS),
        f"ends with this line (at most {MAX_HELP} bytes)",
        f"in at most a {word(1 + sender.REST)} of a process's time",
        said("once a minute, `dead_letters_lost` in the log", drops.LOG_EVERY_MS / S, MINUTE_S),
        f"the topic's broker rejected the copies {word(sender.REJECTIONS)} times",
        f"Every compressed batch is read until {adaptive.TRUSTED_AFTER} in a row were in order",
        f"one batch in {adaptive.ONE_READ_OF} is read, at random",
        f"is read for {adaptive.READ_ALL_MS // S // MINUTE_S} minutes, "
        f"and until {adaptive.TRUSTED_AFTER} more were in order",
        f"(errors {', '.join(map(str, sorted(ABOUT_RECORDS)[:2]))} and {max(ABOUT_RECORDS)})",
        f"Trust begins at 0 again after a pause of {word(adaptive.PAUSE_MS / S / MINUTE_S)} minute",
        f"steps of the wall clock of a {word(S / STEP_MS)} of a second or more",
        said("second witness for one minute, so that", monitor.TOLD_BEFORE_MS / S, MINUTE_S),
        f"which are {monitor.RETRY_DELAY_S:g} s and "
        f"{monitor.RETRY_DELAY_S + monitor.LISTEN_INTERVAL_S:g} s apart",
        f"of up to {STAMPED_TOPICS} topics in use with LogAppendTime",
        f"The proxy writes {word(TRIES)} empty records to each broker",
        said(
            f"once a day in the last {word(waivers.WARNED_EARLY_MS / DAY_MS)}", waivers.WARN_AGAIN_MS, DAY_MS
        ),
        said("If it takes more than a millisecond a batch", SLOW_S * S, 1),
        f"Up to a {word(MAX_OBJECTS)} records that arrive together are judged there",
    ],
}


@pytest.mark.parametrize(
    ("page", "text"), [(page, text) for page, texts in PROMISED.items() for text in texts]
)
def test_a_limit_is_the_codes_own(page, text):
    said_there = " ".join((GUIDE / page).read_text(encoding="utf-8").split())
    assert said_there.count(text) == 1, "the page says something else"

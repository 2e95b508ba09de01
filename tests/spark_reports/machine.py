"""A machine of its own for a scheduler: real systemd or cron in namespaces, with a clock that is set.

The machine has the folders that operations.md installs, and nothing else of this one in `/opt`, `/srv`,
`/var/lib` and in the scheduler's configuration. systemd runs as its first process. The program's clock is set
in its own process, and cron's by libfaketime. (Under libfaketime, Python 3.11 cannot sleep.)
"""

import os
import shutil
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

import pytest

from tests.proxy.running import FAKETIME
from tests.spark_reports.schedules import FOLDER

ROOT = Path(__file__).parents[2]
SYSTEMD = Path("/lib/systemd/systemd")
_NIGHT_TAKES_S = 1_500
_PYTHON = Path(sys.base_prefix)


def needs(*programs):
    """A mark for tests that need root, Linux's namespaces and these programs."""
    wanted = [("root", os.geteuid() == 0), (str(FAKETIME), FAKETIME.exists())]
    wanted += [(str(each), shutil.which(str(each)) is not None) for each in ("unshare", *programs)]
    missing = [name for name, is_there in wanted if not is_there]
    return pytest.mark.skipif(bool(missing), reason=f"needs Linux and {', '.join(missing)}")


_MAIN = """
import datetime, os, sys

class Clock(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return datetime.datetime.fromisoformat(os.environ["NIGHT"]).astimezone(tz)

real, datetime.datetime = datetime.datetime, Clock
from spark_reports.cli import main
datetime.datetime = real
sys.exit(main())
"""
_PROGRAM = f"""#!/bin/sh
# Java cannot read control groups of both versions in one machine.
export JDK_JAVA_OPTIONS=-XX:-UseContainerSupport
# The unit hides the homes, where this Python's own library may lie; a Debian's is of another release.
export LD_LIBRARY_PATH=/opt/tsproxy/python/lib
PYTHONHOME=/opt/tsproxy/python PYTHONPATH=/opt/tsproxy/source:/opt/tsproxy/site \\
  /opt/tsproxy/python/bin/python{sys.version_info.major}.{sys.version_info.minor} /opt/tsproxy/main.py "$@" \\
  2>>/var/lib/tsproxy-reports/errors
status=$?; echo $status >/var/lib/tsproxy-reports/status; exit $status
"""


class Machine:
    """The folders of a machine below `root`. They stay from night to night."""

    def __init__(self, root):
        self.decisions, self.reports, self.store = root / "decisions", root / "reports", root / "store"
        self._root, self._status = root, self.store / "status"
        for name in (
            "decisions",
            "reports",
            "store",
            "etc",
            "opt/bin",
            "opt/python",
            "opt/site",
            "opt/source",
        ):
            (root / name).mkdir(parents=True)
        (root / "opt" / "main.py").write_text(_MAIN)
        program = root / "opt" / "bin" / "spark_reports"
        program.write_text(_PROGRAM)
        program.chmod(0o755)

    def errors(self):
        """The errors that the program printed."""
        return (self.store / "errors").read_text()[-3000:]

    def by_systemd(self, at):
        """Start the machine at this time (an aware datetime): its timer makes up for the night."""
        place = self._root / "etc"
        for path in (FOLDER.parent / f"tsproxy-reports.{kind}" for kind in ("timer", "service")):
            shutil.copy(path, place)
        own = {
            "service": f"[Service]\nEnvironment=NIGHT={at.isoformat()}\n",
            "timer": "[Timer]\nRandomizedDelaySec=0\n",
        }
        for kind, text in own.items():
            (place / f"tsproxy-reports.{kind}.d").mkdir(exist_ok=True)
            # Nothing else is started on this machine.
            alone = "[Unit]\nDefaultDependencies=no\n"
            (place / f"tsproxy-reports.{kind}.d" / "alone.conf").write_text(alone + text)
        return self._night(
            "mount -t cgroup2 none /sys/fs/cgroup",
            f"mount --bind {place} /etc/systemd/system",
            # The timer's last night was long ago.
            "mkdir -p /var/lib/systemd/timers",
            "touch -d 2026-01-01 /var/lib/systemd/timers/stamp-tsproxy-reports.timer",
            f"exec env -i container=lxc PATH=/usr/bin:/bin {SYSTEMD} --system --unit=tsproxy-reports.timer",
        )

    def by_cron(self, at):
        """Start cron at this time, some seconds before the minute of its night."""
        place = self._root / "etc" / "tsproxy-reports"
        place.write_text(f"NIGHT={at.isoformat()}\n{(FOLDER / 'reports.cron').read_text()}")
        return self._night(
            "mount -t tmpfs tmpfs /etc/cron.d; mount -t tmpfs tmpfs /var/spool",
            "mkdir -p /var/spool/cron/crontabs; mount --bind /dev/null /etc/crontab",
            f"cp {place} /etc/cron.d/; chmod 644 /etc/cron.d/tsproxy-reports",
            f"export TZ=UTC FAKETIME='@{at:%Y-%m-%d %H:%M:%S}' FAKETIME_DONT_FAKE_MONOTONIC=1",
            f"LD_PRELOAD={FAKETIME} exec cron -f",
        )

    def _night(self, *commands):
        """Run the commands as the first process of a machine until the night is over; its exit status.

        The last command is the scheduler. It sees a `/tmp` of its own: systemd empties it at a boot.
        """
        self._status.unlink(missing_ok=True)
        binds = {"opt": "/opt/tsproxy", "decisions": "/var/lib/tsproxy/decisions",
                 "store": "/var/lib/tsproxy-reports", "reports": "/srv/reports"}  # fmt: skip
        given = {"python": _PYTHON, "site": sysconfig.get_path("purelib"), "source": ROOT}
        script = [
            "set -e",
            *(f"mount --bind {path} {self._root}/opt/{name}" for name, path in given.items()),
            "mount -t tmpfs tmpfs /run; mkdir /run/given",
            *(f"mkdir /run/given/{n}; mount --rbind {self._root / n} /run/given/{n}" for n in binds),
            "mount -t tmpfs tmpfs /opt; mount -t tmpfs tmpfs /srv; mount -t tmpfs tmpfs /var/lib",
            *(f"mkdir -p {place}; mount --rbind /run/given/{name} {place}" for name, place in binds.items()),
            *commands[:-1],
            "mount -t tmpfs tmpfs /tmp; mount -t tmpfs tmpfs /var/tmp",
            commands[-1],
        ]
        command = ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "--cgroup", "--kill-child"]
        with (self._root / "machine.log").open("ab") as log:
            process = subprocess.Popen([*command, "sh", "-c", "\n".join(script)], stdout=log, stderr=log)
            try:
                ends = time.monotonic() + _NIGHT_TAKES_S
                while not (self._status.exists() and self._status.read_text().strip()):
                    assert process.poll() is None, (self._root / "machine.log").read_text()[-3000:]
                    assert time.monotonic() < ends, "the scheduler did not run the night"
                    time.sleep(0.2)
            finally:
                process.kill()
                process.wait()
        return int(self._status.read_text())

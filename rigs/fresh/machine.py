"""A root of a release of Debian, in which commands run as on a machine of its own."""

import os
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from rigs.fresh.readme import ROOT, packages

_CERTIFICATES = Path("/usr/local/share/ca-certificates")
_NETWORK = ("http_proxy", "https_proxy", "no_proxy", "PIP_INDEX_URL")
_BUNDLE = "/etc/ssl/certs/ca-certificates.crt"


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended: its status, what it printed, and its seconds."""

    status: int
    output: str
    took_s: float


@dataclass(frozen=True, slots=True)
class Machine:
    """`suite` is a release of Debian, and `root` its folder."""

    suite: str
    root: Path

    def make(self):
        """Make the root, and install what README names. Does nothing that is done already."""
        if not (self.root / "etc" / "debian_version").exists():
            options = ("--variant=minbase", "--include=ca-certificates")
            script = "/usr/share/debootstrap/scripts/sid"  # that of a suite may be newer than debootstrap
            bootstrap = ["debootstrap", *options, self.suite, self.root, "", script]
            subprocess.run(bootstrap, check=True, stdout=subprocess.DEVNULL)
        shutil.copy("/etc/resolv.conf", self.root / "etc")
        if _CERTIFICATES.is_dir():  # a machine behind a proxy with an authority of its own
            shutil.copytree(_CERTIFICATES, self.root / _CERTIFICATES.relative_to("/"), dirs_exist_ok=True)
        conf = self.root / "etc/apt/apt.conf.d/99snapshot"
        conf.write_text('Acquire::Check-Valid-Until "false";\n')  # a mirror of testing may be a snapshot
        self.installed(*packages())

    def installed(self, *names):
        """Install packages; nothing else may be needed for that."""
        ended = self.run(f"update-ca-certificates; apt-get update && apt-get install -y {' '.join(names)}")
        assert ended.status == 0, ended.output

    def removed(self, name):
        """Remove a package, its form for one version of Python, and what came with them alone."""
        versioned = name.replace("python3-", "^python3[.][0-9]+-") + "$"
        ended = self.run(f"apt-get autoremove -y {name} '{versioned}'")
        assert ended.status == 0, ended.output

    def clone(self, home):
        """A clone of the last commit of this checkout, below a home of its own in the root."""
        folder = self.root / home / "tsproxy"
        shutil.rmtree(folder.parent, ignore_errors=True)
        subprocess.run(["git", "clone", "--quiet", ROOT, folder], check=True)
        return folder

    def run(self, command, home="root", log=None):
        """Run a shell's command in the root, with its own processes and mounts and a bare environment."""
        inside = (
            f"mount -t proc proc {self.root}/proc && mount --rbind /dev {self.root}/dev && "
            f'exec chroot {self.root} sh -c "$0"'
        )
        environment = {
            **{name: os.environ[name] for name in _NETWORK if name in os.environ},
            **dict.fromkeys(("PIP_CERT", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"), _BUNDLE),
            "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": f"/{home}",
            "LANG": "C.UTF-8",
            "DEBIAN_FRONTEND": "noninteractive",
        }
        began_s = time.monotonic()
        ended = subprocess.run(
            ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", inside, command],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        if log is not None:
            log.write_text(ended.stdout)
        return Ended(ended.returncode, ended.stdout, time.monotonic() - began_s)

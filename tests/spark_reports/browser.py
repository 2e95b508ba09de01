"""A real Chromium without a window. It renders pages, runs axe-core on them and takes pictures.

Tests find Chromium and npm (which fetches axe-core once, into the user's cache) on PATH. A test that needs a
missing one says so.
"""

import json
import os
import re
import shutil
import subprocess
from functools import cache
from html import unescape
from pathlib import Path
from tempfile import TemporaryDirectory

AXE_VERSION = "4.14.1"
_CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "tsproxy"
_TIMEOUT_S = 1_200

_WATCH = """<script>
for (const name of ['alert', 'confirm', 'prompt', 'open'])
  window[name] = () => document.documentElement.setAttribute('data-obeyed', name);
</script>"""
_ASK = """<script>%s</script><script>
axe.run(document, {runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice']}).then(found => {
  const result = document.createElement('pre');
  result.id = 'axe-found';
  result.textContent = JSON.stringify(found.violations.map(
    each => [each.id, each.nodes.map(node => node.html.slice(0, 200))]));
  document.body.appendChild(result);
});
</script>"""


@cache
def chromium():
    """The program, or None."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)


@cache
def axe():
    """axe-core's source, or None if npm cannot fetch it.

    Several processes of one run may fetch it at once: it comes into the cache whole, or not at all.
    """
    source = _CACHE / f"axe-core-{AXE_VERSION}.min.js"
    if not source.exists() and shutil.which("npm"):
        _CACHE.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=_CACHE) as folder:
            command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", folder]
            subprocess.run([*command, f"axe-core@{AXE_VERSION}"], check=False, timeout=_TIMEOUT_S)
            fetched = Path(folder) / "node_modules" / "axe-core" / "axe.min.js"
            if fetched.exists():
                fetched.replace(source)
    return source.read_text(encoding="utf-8") if source.exists() else None


def run(tmp_path, page, *options):
    """Chromium's standard output for a page that is given as text."""
    path = tmp_path / "page.html"
    path.write_text(page, encoding="utf-8")
    command = [
        *(chromium(), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
        *("--hide-scrollbars", "--disable-extensions", f"--user-data-dir={tmp_path / 'profile'}"),
        *options,
        path.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=True)
    return done.stdout


def obeyed(tmp_path, page):
    """The function that a page's text called as a script, or None."""
    watched = page.replace("<head>", f"<head>{_WATCH}", 1)
    assert watched != page
    dom = run(tmp_path, watched, "--virtual-time-budget=3000", "--dump-dom")
    found = re.search(r'data-obeyed="(\w+)"', dom)
    return found[1] if found else None


def complaints(tmp_path, page, *options):
    """The faults that axe-core finds in a page, as [rule, [elements]]."""
    asked = page.replace("</body>", f"{_ASK % axe()}</body>", 1)
    dom = run(tmp_path, asked, "--virtual-time-budget=60000", "--dump-dom", *options)
    found = re.search(r'<pre id="axe-found">(.*?)</pre>', dom, re.DOTALL)
    assert found, "axe-core did not finish"
    return json.loads(unescape(found[1]))


def height(tmp_path, page, name, *options):
    """The height of a section of a page; `name`: the id of its heading."""
    script = f"document.getElementById('{name}').closest('section').getBoundingClientRect().height"
    measured = page.replace("</body>", f"<script>document.body.dataset.height = {script}</script></body>", 1)
    dom = run(tmp_path, measured, "--virtual-time-budget=3000", "--dump-dom", *options)
    return float(re.search(r'data-height="([\d.]+)"', dom)[1])


def width(tmp_path, page, *options):
    """The width of a page that a reader would scroll, and that of the window."""
    script = "document.documentElement.dataset.width = [document.documentElement.scrollWidth, innerWidth]"
    measured = page.replace("</body>", f"<script>{script}</script></body>", 1)
    dom = run(tmp_path, measured, "--virtual-time-budget=3000", "--dump-dom", *options)
    found = re.search(r'data-width="(\d+),(\d+)"', dom)
    return int(found[1]), int(found[2])


def bottoms(tmp_path, page, selectors, *options):
    """The lower ends of the first elements that these CSS selectors find, in pixels from the top."""
    script = "document.body.dataset.bottoms = JSON.stringify({}.map(each => Math.round({})))".format(
        json.dumps(selectors),
        "document.querySelector(each).getBoundingClientRect().bottom",
    )
    measured = page.replace("</body>", f"<script>{script}</script></body>", 1)
    dom = run(tmp_path, measured, "--virtual-time-budget=3000", "--dump-dom", *options)
    return json.loads(unescape(re.search(r'data-bottoms="(.*?)"', dom)[1]))

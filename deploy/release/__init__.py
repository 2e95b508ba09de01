"""Makes a release: `python -m deploy.release`, or `make release` (CONTRIBUTING.md, "Releases").

`agreement` compares version, tag and CHANGELOG. `audit` looks up known vulnerabilities. `build` makes wheels,
sdist and the archive for spark-submit from the commit. `trial` installs and tests them in a fresh
environment, `sbom` lists the packages of that environment. `debian` makes the Debian package. Nothing here
publishes anything.
"""


class ReleaseError(Exception):
    """The reason why there is no release, in one line for a person."""

"""The making of a release. Nothing here publishes anything."""


class ReleaseError(Exception):
    """The reason why there is no release, in one line for a person."""

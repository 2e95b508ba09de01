"""Notes what a library for gzip is given: `noted`."""


def noted(monkeypatch, library, meanwhile=lambda: None):
    """(bytes of input, most bytes of output) of each call of `library`. `meanwhile` is called in each."""
    calls, decompressobj = [], library.decompressobj

    class Noted:
        def __init__(self, **options):
            self._member = decompressobj(**options)

        def __getattr__(self, name):
            return getattr(self._member, name)

        def decompress(self, data, most):
            calls.append((len(data), most))
            meanwhile()
            return self._member.decompress(data, most)

    monkeypatch.setattr(library, "decompressobj", Noted)
    return calls

"""README's own lines on machines that have nothing else: `python -m rigs.fresh trixie forky`.

Each machine is a root of a release of Debian, made by debootstrap, with the packages of README's line and no
others, so without a C compiler. Each package of the line is removed once, and `make` must say what is missing
before it makes or downloads anything. Then a clone of this checkout runs README's commands with empty caches.

It needs root, debootstrap, and the network. The roots stay in the folder (`--folder`) for a next run.
"""

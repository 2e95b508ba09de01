"""Targets in C: the native code under AddressSanitizer, UBSan and libFuzzer, without Python in between.

    driver.c       libFuzzer around an embedded Python; bounds the work and the memory of each input
    target.pxd     what a target is made of
    readers.pyx    targets for the readers of `tsproxy.wire`
    fast_path.pyx  targets for `tsproxy.fastpath`
    scenes.py      the sessions that the fast path is compared with
    seeds.py       what each target begins with: `NATIVE`
    build.py       clang builds all of it

The first line of each target's docstring is its invariant. Beside it, an input may cost only so much: its
`Target` bounds edges of the control flow and bytes of memory, as numbers and as numbers for each byte.
"""

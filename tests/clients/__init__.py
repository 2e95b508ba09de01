"""Clients of every family before a real cluster, with all that they can do and all that may happen to them.

`stages` says what is set up (versions, security, who plays), `play` what happens there, `test_matrix` what
must have come of it, sentence by sentence. `programs` holds one small program a family, `families` how each
is started, `connections` who is connected to whom. `foreign` builds the clients that need Go or Node; they
play where TSPROXY_CLIENTS asks for it (`foreign`: only that; `all`: everybody). TSPROXY_TEST=full plays every
stage, else a sample is played.
"""

"""The readers in Cython. `tsproxy.wire.readers` offers them."""

"""The versions of brokers that these tests start. All other tests use the package with both versions."""

import os

VERSIONS = ("4.4.0", "3.9.1") if os.environ.get("TSPROXY_TEST") == "full" else ("4.4.0",)

"""Does a test turn red when the rules are changed? See `__main__`.

All trials run without native code. It is turned off before anything is imported, since a native module
that was loaded once keeps the classes that it found then.
"""

import os

os.environ["TSPROXY_NATIVE"] = "off"

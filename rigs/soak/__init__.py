"""An hour of mixed traffic. Memory, descriptors and tasks must not grow."""

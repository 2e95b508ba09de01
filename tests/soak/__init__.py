"""An hour of mixed traffic, and the straight line through memory, descriptors and tasks that must not rise."""

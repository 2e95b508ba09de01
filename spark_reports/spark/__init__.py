"""The Spark session: how it starts, its settings, and the optional archive of its classes."""

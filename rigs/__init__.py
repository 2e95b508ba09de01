"""Programs that test for minutes or hours: README.md has the list."""

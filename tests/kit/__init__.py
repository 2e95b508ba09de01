"""The kit of all tests: `admin` changes rights and passwords of users, `topics` reads what brokers hold."""

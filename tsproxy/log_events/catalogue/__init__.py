"""One row for each event of the operators' log: one module for each section of troubleshooting.md."""

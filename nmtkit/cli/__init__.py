"""The command line: one module per command, which turns options into one call."""

"""What only commands need: options of command lines, the work of a command, and tables for the terminal."""

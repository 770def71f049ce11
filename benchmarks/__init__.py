"""Measurements of speed and quality, run as `python -m benchmarks.NAME`. See README.md in this folder."""

"""Partitioners: one file each. A file has `class Config` and `assign(table, clients, config, rng) -> Assignment`."""

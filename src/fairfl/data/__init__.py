"""Data sets: one file each, found by fairfl.data.registry; what they read and write besides."""

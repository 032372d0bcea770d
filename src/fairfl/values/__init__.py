"""What stands between a file, or a seed, and the numbers that a job computes with or prints: its code counts."""

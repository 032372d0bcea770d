"""What stands between a file and the numbers that a job computes with or prints: its code counts."""

"""fairfl's speed beside its peers and the hardware's peak: `make bench`, `make bench-check`; see README.md."""

"""First contact with a GPU: does it compute the same as the CPU, twice the same, and how fast. See __main__.py."""

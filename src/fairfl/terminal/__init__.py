"""What a person sees while Snakemake runs, in the place of its own lines."""

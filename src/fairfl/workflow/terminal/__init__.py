"""What a person sees while Snakemake runs, in place of Snakemake's lines."""

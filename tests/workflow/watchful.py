"""Snakemake that looks at its Slurm jobs twice a second; the plugin itself waits ten seconds and more in between.

It stops looking where the file ASKED appears: it renames it to BLIND and goes on when that is gone.
"""

import asyncio
import contextlib
import sys
from pathlib import Path

ASKED, BLIND = Path("stop-looking"), Path("not-looking")


async def pause(_) -> None:
    await asyncio.sleep(0.5)
    with contextlib.suppress(FileNotFoundError):
        ASKED.rename(BLIND)
    while BLIND.exists():
        await asyncio.sleep(0.05)


if __name__ == "__main__":
    sys.path[0] = ""  # as with python -m snakemake
    import snakemake.cli
    import snakemake_executor_plugin_slurm as plugin

    plugin.Executor.sleep = pause
    plugin.common_settings.init_seconds_before_status_checks = 1
    snakemake.cli.main()

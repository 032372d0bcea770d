"""python -m fairfl, or fairfl where it is installed: the commands of fairfl.commands.main."""

import atexit

from fairfl.commands.main import main
from fairfl.runtime import cli

if __name__ == "__main__":
    try:
        main()
    except SystemExit as end:
        if isinstance(end.code, str):  # the interpreter prints it
            raise
        atexit._run_exitfuncs()
        cli.leave(end.code or 0)  # taking Snakemake apart takes a fifth of a second

"""fairfl: own parts, own algorithms in published tables, and Snakemake in the root.

    fairfl new algorithm|paper|dataset NAME    a working skeleton with its test
    fairfl compare ALGORITHM... --with TABLE   your algorithms side by side with the rows of a published table
    fairfl show ARTIFACT [VARIANT] [METRIC]    a number, its verdict, and the runs that it comes from
    fairfl run [TARGETS AND OPTIONS]           Snakemake, with all cores unless --cores says otherwise
    fairfl plan [OPTIONS]                      what would run, and why, and how long it takes
    fairfl store [OPTIONS]                     take what has finished at full scale into results/recorded/
    fairfl verify [OPTIONS]                    compare every result with its checksum
    fairfl clear [OPTIONS]                     delete results that no paper asks for, and damaged ones
    fairfl tune [OPTIONS]                      every grid search that the papers describe
    fairfl calibrate [OPTIONS]                 search the facts that the papers leave open

For example: fairfl run mine_table1 --config papers=mine
"""

import argparse
import atexit
import os
import sys
from importlib import import_module
from pathlib import Path

from fairfl.commands.snakemake import config_of, run, with_cores
from fairfl.experiments.strict import load
from fairfl.runtime import cli
from fairfl.runtime.errors import FairflError
from fairfl.runtime.validation import nearest

# Command -> what Snakemake is to build; further words are options of Snakemake.
TARGETS = {
    "plan": "plan",
    "store": "record",
    "tune": "tuned",
    "calibrate": "calibrated",
}
COMMANDS = ("new", "compare", "show", "run", "verify", "clear", *TARGETS)
OPTIONS = """
OPTIONS are Snakemake's; most runs need none of them:
    --config KEY=VALUE...                a key of config.yaml, for this time: scale=full papers=fedfv
    --cores N                            at most N cores (all)
    --dry-run                            say only what would run
    --keep-going                         go on with what does not need a job that failed
    --workflow-profile profiles/slurm    on a cluster
All others: snakemake --help"""


def main(argv: list[str] | None = None) -> None:
    """Exits with 1 and one line for a mistake, and for a package that is missing, with what to do."""
    words = sys.argv[1:] if argv is None else argv
    cli.run(lambda _: _command(words))


def main_and_leave() -> None:
    """`main` of a process that ends with it: taking Snakemake apart takes a fifth of a second."""
    try:
        main()
    except SystemExit as end:
        if isinstance(end.code, str):  # the interpreter prints it
            raise
        atexit._run_exitfuncs()
        cli.leave(end.code or 0)


def _command(words: list[str]) -> None:
    if not words or words[0] in ("-h", "--help", "help"):
        print(__doc__)
        return
    command, *rest = words
    if command not in COMMANDS:
        raise FairflError(f"fairfl has no command {command!r}{nearest(command, COMMANDS)}")
    if {"-h", "--help"} & {*rest} and command in ("run", *TARGETS):
        print(*(line.strip() for line in __doc__.splitlines() if f" {command} [" in line))
        print(OPTIONS)
        return
    root = repository(Path.cwd())
    try:
        if command in ("new", "compare", "show"):
            import_module(f"fairfl.commands.{command}").main(root, rest)
        elif command in ("verify", "clear"):
            look_after(root, command, rest)
        else:
            os.chdir(root)
            run(with_cores([TARGETS[command], *rest] if command in TARGETS else rest))
    except ModuleNotFoundError as error:
        raise FairflError(missing(str(error.name))) from None


def repository(folder: Path) -> Path:
    """The root of the repository that a folder lies in, else of the one that this package lies in.

    Raises FairflError without one.
    """
    for root in (folder, *folder.parents, Path(__file__).resolve().parents[3]):
        if (root / "Snakefile").is_file() and (root / "src" / "fairfl").is_dir():
            return root
    raise FairflError(f"{folder} is not inside a fairfl clone. Run: cd path/to/fairfl")


def look_after(root: Path, command: str, words: list[str]) -> None:
    """`verify` or `clear`: of Snakemake's options they take what says which scale is meant."""
    from snakemake.cli import parse_config

    from fairfl.workflow import verify

    overrides, others = config_of(words)
    args = make_parser(command).parse_args(others)
    os.chdir(root)
    config = parse_config(overrides)
    for path in (*args.configfile[::-1], Path("config.yaml")):
        config = (load(path) or {}) | config
    if command == "verify":
        verify.verify(root, config)
    else:
        verify.clear(root, config, args.yes, args.dry_run)


def make_parser(command: str) -> argparse.ArgumentParser:
    """The options of `verify` or `clear`."""
    from fairfl.workflow import verify

    parser = argparse.ArgumentParser(prog=f"fairfl {command}", description=verify.__doc__)
    parser.add_argument("--configfile", "--configfiles", nargs="+", type=Path, default=[])
    parser.add_argument("--config", "-C", nargs="+", metavar="KEY=VALUE", help="such as scale=full")
    parser.add_argument("--cores", "-c", help=argparse.SUPPRESS)
    if command == "clear":
        parser.add_argument("--yes", action="store_true", help="delete without a question")
        parser.add_argument("--dry-run", "-n", action="store_true", help="delete nothing")
    return parser


def missing(module: str) -> str:
    """Advice about a package that this interpreter does not have."""
    return (
        f"{sys.executable} has no package {module!r}. In the repository, `make setup` installs what is needed into "
        ".venv; then run .venv/bin/fairfl. For an environment of your own: python -m pip install -e ."
    )

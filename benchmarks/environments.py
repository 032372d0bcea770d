"""A virtual environment for each peer, made when it is first needed: benchmarks/.envs/<peer>.

It holds the peer and what only the peer needs, pinned in benchmarks/peers/<peer>.txt and installed without following
dependencies. Everything else, torch above all, is the calling interpreter's, whose site-packages a .pth file puts
behind the environment's own: simulators are compared, not builds of torch. A peer that needs another version of Python
cannot share compiled packages; it gets the same versions of torch and numpy.
"""

import hashlib
import importlib.metadata
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

from fairfl.runtime import atomic

FOLDER = Path(__file__).parent
TIMEOUT_S = 900


class Unavailable(Exception):
    """The peer cannot be installed here; the message says why, without paths."""


_failed: dict[str, str] = {}


def python_of(peer: str, version: str | None = None) -> Path:
    """The interpreter of a peer's environment, made if it is not there or out of date.

    `version` of Python, "3.14"; None: the calling one.

    Raises Unavailable; a peer that could not be installed is not tried again by this process.
    """
    if peer in _failed:
        raise Unavailable(_failed[peer])
    try:
        return _made(peer, version)
    except Unavailable as error:
        _failed[peer] = str(error)
        raise


def interpreter(version: str) -> str:
    """A Python of this version, on the path or among those that uv has installed. Raises Unavailable."""
    if found := shutil.which(f"python{version}"):
        return found
    if uv := shutil.which("uv"):
        asked = subprocess.run(
            [uv, "python", "find", "--no-python-downloads", version], capture_output=True, text=True
        )
        if asked.returncode == 0:
            return asked.stdout.strip()
    raise Unavailable(
        f"needs Python {version}, and there is none (uv python install {version} may bring one)"
    )


def _made(peer: str, version: str | None) -> Path:
    requirements = FOLDER / "peers" / f"{peer}.txt"
    base = interpreter(version) if version else sys.executable
    outer = set() if version else {sysconfig.get_path("purelib"), sysconfig.get_path("platlib")}
    same = [
        f"{name}=={importlib.metadata.version(name).partition('+')[0]}"
        for name in ("torch", "numpy")
        if version
    ]
    identity = "\n".join([requirements.read_text(), sys.version, base, *same, *sorted(outer)])
    identity = hashlib.sha256(identity.encode()).hexdigest()
    home = FOLDER / ".envs" / peer
    python = home / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    ready = home / "ready"
    if ready.is_file() and ready.read_text() == identity:
        return python
    print(f"installing {peer} into {home}", file=sys.stderr)
    _run(peer, [base, "-m", "venv", "--clear", str(home)])
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _run(peer, [*install, "--no-deps", "-r", str(requirements)])
    if same:
        _run(peer, [*install, *same])
    # Only now: pip must not see the outer packages as its own.
    purelib = _run(
        peer, [str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    ).strip()
    (Path(purelib) / "outer.pth").write_text("\n".join(sorted(outer)) + "\n")
    atomic.write_text(ready, identity)
    return python


def _run(peer: str, command: list[str]) -> str:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"not installed ({type(error).__name__})") from None
    if done.returncode:
        print(done.stderr, file=sys.stderr)
        raise Unavailable(reason(done.stderr))
    return done.stdout


def reason(stderr: str) -> str:
    """The last error line of pip in one clause, if it names neither a path nor a host."""
    errors = [
        line.removeprefix("ERROR:").strip()
        for line in stderr.splitlines()
        if line.startswith("ERROR:")
    ]
    shown = [line for line in errors if "/" not in line and "\\" not in line]
    return (
        f"not installed ({shown[-1]})"
        if shown
        else "not installed (no network, or no package for this platform)"
    )

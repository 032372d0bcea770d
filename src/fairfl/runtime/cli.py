"""The frame around every command: one line per failure, never a traceback."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable

from fairfl.runtime import sealed
from fairfl.runtime.errors import FairflError


def describe_program() -> str:
    """First paragraph of the main module's docstring. It stands here, or else specs would depend on docstrings."""
    return str(sys.modules["__main__"].__doc__).partition("\n\n")[0]


def run(main: Callable[[list[str] | None], None], *, teardown: bool = True) -> None:
    """Call ``main(None)``; print ``error: <message>`` and exit 1 on an expected failure.

    Expected are :class:`FairflError`, :class:`OSError` and a lack of memory; anything else is a bug and keeps its
    traceback. Ctrl-C exits with 130; a reader of the output that has gone ends it with 141. SIGTERM becomes an ordinary
    exit with 143, so that temporary files are removed; a command with its own SIGTERM handling installs it in ``main``.

    ``teardown=False`` leaves the process at once when ``main`` is done: taking torch down takes half a
    second, prints what it leaks, and there is nothing left to save.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        main(None)
        sys.stdout.flush()
    except KeyboardInterrupt:
        sys.exit(130)
    except FairflError as error:
        _fail(str(error), teardown)
    except BrokenPipeError:  # of `fairfl plan | head`: who reads has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(128 + signal.SIGPIPE)
    except OSError as error:
        reason = error.strerror or str(error) or type(error).__name__
        _fail(reason if error.filename is None else f"{error.filename}: {reason}", teardown)
    except MemoryError as error:
        _fail(f"not enough memory: {error}" if str(error) else "not enough memory", teardown)
    if not teardown:
        leave(0)


def _fail(message: str, teardown: bool) -> None:
    print(f"error: {sealed.as_in_project(message)}", file=sys.stderr)
    if not teardown:
        leave(1)
    sys.exit(1)


def leave(code: int) -> None:
    """End this process as it stands."""
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)

"""python -P -m fairfl.runtime.submission FILE: runs the jobs of one submission to a cluster, one after the other.

FILE (JSON) says with which commands, and for which workflow. How each has ended is a line `number code` of FILE.ended;
a submission that a cluster starts again goes on after those.
"""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

from fairfl.runtime import locks
from fairfl.runtime.errors import FairflError
from fairfl.runtime.warm_start.launch import WORTH, StartServer

OUT_OF_MEMORY = -1  # in the place of an exit code
WHOLE = "end"  # last line, once all have ended
_STOPPED = {128 + number for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)}


def ended(file: Path) -> tuple[dict[int, int], bool]:
    """Exit codes of the jobs that have ended, by number, and whether these are all."""
    try:
        lines = Path(f"{file}.ended").read_text().splitlines()
    except FileNotFoundError:
        return {}, False
    codes = {int(number): int(code) for number, code in map(str.split, lines) if number != WHOLE}
    return codes, any(line.startswith(WHOLE) for line in lines)


def kills_for_memory() -> int:
    """Processes of this control group that were killed for lack of memory; 0 where that cannot be known."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, kinds, place = line.split(":", 2)
        if kinds in ("", "memory"):
            root = f"/sys/fs/cgroup{'/memory' if kinds else ''}{place}"
            for name in ("memory.events", "memory.oom_control"):
                try:
                    match = re.search(r"^oom_kill (\d+)", Path(root, name).read_text(), re.M)
                except OSError:
                    continue
                if match:
                    return int(match[1])
    return 0


def main(argv: list[str]) -> int:
    """The exit code: 0 if all jobs have ended well."""
    file = Path(argv[0])
    try:
        whole = json.loads(file.read_bytes())
    except FileNotFoundError:
        raise FairflError("the workflow of this job has ended; the job does nothing") from None
    os.environ["PATH"] = f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}"
    codes, _ = ended(file)
    left = [number for number in range(len(whole["commands"])) if codes.get(number) != 0]
    server = StartServer()
    if len(left) >= WORTH and whole["warm_start"]:
        server.start(whole["preloaded"], lambda text: print(text, flush=True))
    try:
        with open(f"{file}.ended", "a", buffering=1) as file_of_codes:
            for number in left:
                locks.still_wanted(Path(whole["lock"]))
                killed = kills_for_memory()
                command = ["/bin/bash", "-c", f"set -euo pipefail; {whole['commands'][number]}"]
                code = subprocess.run(command, stdin=subprocess.DEVNULL).returncode
                code = 128 - code if code < 0 else code
                if code and kills_for_memory() > killed:
                    code = OUT_OF_MEMORY
                elif code in _STOPPED:  # with all others
                    return code
                codes[number] = code
                file_of_codes.write(f"{number} {code}\n")
            file_of_codes.write(f"{WHOLE} {len(codes)}\n")
            os.fsync(file_of_codes.fileno())
    finally:
        server.stop()
    return int(any(codes.values()))


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except FairflError as error:
        sys.exit(f"error: {error}")

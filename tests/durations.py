"""python -m tests.durations: tests/durations.csv, the seconds of each file of tests in the last `make test` and
`make test-long`, the slowest first. Words that it is given (how busy the machine was) follow the number of cores there.
"""

import csv
import os
import sys
from collections import defaultdict
from pathlib import Path
from xml.etree import ElementTree

REPORTS = {kind: Path(f".pytest_cache/{kind}.xml") for kind in ("test", "long")}  # as the Makefile names them
DURATIONS = Path(__file__).with_suffix(".csv")


def main(words: list[str]) -> None:
    """Write the table."""
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for kind, report in REPORTS.items():
        for case in ElementTree.parse(report).iter("testcase") if report.exists() else ():
            found[case.attrib["classname"].replace(".", "/") + ".py", kind].append(float(case.attrib["time"]))
    rows = [
        (file, kind, len(times), round(sum(times), 1), round(max(times), 1)) for (file, kind), times in found.items()
    ]
    with DURATIONS.open("w", newline="") as out:
        out.write(f"# {' '.join([str(os.cpu_count()), 'cores', *words])}\n")
        table = csv.writer(out, lineterminator="\n")
        table.writerow(("file", "kind", "cases", "seconds", "longest"))
        table.writerows(sorted(rows, key=lambda row: -row[3]))


if __name__ == "__main__":
    main(sys.argv[1:])

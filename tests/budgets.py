"""python -m tests.budgets: counts that may only fall (tests/budgets.json). `--write` lowers them.

Tokens of src/fairfl, of which one package may gain what another has lost; words that the style guide replaces; habits
that make code hard to read. `python -m tests.budgets NAME` lists the places of a habit, the strings with a word.
"""

import json
import sys
from pathlib import Path

from tests import habits, weight, words

BUDGETS = Path(__file__).with_suffix(".json")
Counts = dict[str, dict[str, int]]


def counted() -> Counts:
    """What -> where or which -> how many."""
    found = {habit: len(places) for habit, places in sorted(habits.places().items())}
    return {"tokens": weight.counted(), "words": words.totals(), "habits": found}


def risen(now: Counts, budgets: Counts) -> list[str]:
    """A line for each count above its budget; of tokens only if all packages together are."""
    grows = sum(now["tokens"].values()) > sum(budgets["tokens"].values())
    return [
        f"{what}: {name}: {count:,}, at most {most:,} (python -m tests.budgets {name})"
        for what, counts in now.items()
        for name, count in counts.items()
        if count > (most := budgets[what].get(name, 0)) and (what != "tokens" or grows)
    ]


def lowered(now: Counts, budgets: Counts) -> Counts:
    """The new budgets: none rises but those of packages."""
    least = {
        what: {name: min(count, budgets[what].get(name, count)) for name, count in counts.items()}
        for what, counts in now.items()
    }
    return least | {"tokens": now["tokens"]}


def main(arguments: list[str]) -> int:
    """Exit status: 1 if a count has risen."""
    if name := " ".join(word for word in arguments if word != "--write"):
        print("\n".join(habits.places().get(name) or words.strings_with(name)))
        return 0
    now, budgets = counted(), json.loads(BUDGETS.read_text())
    if lines := risen(now, budgets):
        print("\n".join(lines))
    elif "--write" in arguments:
        BUDGETS.write_text(json.dumps(lowered(now, budgets), indent=1) + "\n")
    return bool(lines)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

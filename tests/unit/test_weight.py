"""Tokens of a module: what is counted, and that a package above its budget is named."""

import json

from tests import weight, words


def test_words_about_code_and_parts_of_texts_are_no_tokens(tmp_path):
    file = tmp_path / "module.py"
    file.write_text('"""What it is."""\n\n\ndef f(x):\n    """Say x."""\n    # why\n    return f"{x + 1} is {x!r}"\n')
    assert weight.tokens(file) == len(["def", "f", "(", "x", ")", ":", "return", "a text"])


def test_a_package_above_its_budget_is_named_and_budgets_never_rise(tmp_path, monkeypatch, capsys):
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("x = 1\n")
    monkeypatch.setattr(weight, "PACKAGES", tmp_path)
    monkeypatch.setattr(weight, "BUDGETS", tmp_path / "weight.json")
    weight.BUDGETS.write_text('{"package": 2}')
    assert weight.main([]) == 1 and "package: 3 tokens, its budget is 2" in capsys.readouterr().out
    weight.main(["--write"])
    assert json.loads(weight.BUDGETS.read_text()) == {"package": 2}


def test_words_that_the_style_guide_replaces_may_only_become_fewer(tmp_path, monkeypatch, capsys):
    (tmp_path / "docs").mkdir()
    (tmp_path / "CONTRIBUTING.md").write_text(
        "| instead of | write |\n|---|---|\n| `dealt`, `so many` | split, n |\n\n`x`\n"
    )
    (tmp_path / "README.md").write_text("Cards are dealt, so\nmany. `dealt`\n```\ndealt\n```\n")
    (tmp_path / "words.txt").write_text("1")
    monkeypatch.setattr(words, "ROOT", tmp_path)
    monkeypatch.setattr(words, "BUDGET", tmp_path / "words.txt")
    assert words.main([]) == 1 and "2 words" in capsys.readouterr().out
    (tmp_path / "README.md").write_text("Nothing.")
    words.main(["--write"])
    assert (tmp_path / "words.txt").read_text() == "0\n" and words.main([]) == 0

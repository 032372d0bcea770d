"""Where two specs differ, in words."""

from fairfl.values.differences import differences


def test_differences_in_words():
    old = {"hyperparameters": {"lambda": 1.0}, "code": {"fairfl.a": "1", "fairfl.b": "2"}, "rounds": 5}
    new = {"hyperparameters": {"lambda": 2.0}, "code": {"fairfl.a": "9", "fairfl.c": "3"}, "rounds": 5}
    assert list(differences(old, new)) == [
        "edited fairfl.a",
        "module gone fairfl.b",
        "new module fairfl.c",
        "hyperparameters.lambda: 1.0 -> 2.0",
    ]
    assert list(differences(new, new)) == []


def test_long_lists_say_what_came_and_went():
    runs = [{"id": f"fedfv_fmnist/qffl/q={q}/seed0"} for q in range(5)]
    assert list(differences({"runs": runs[:4]}, {"runs": runs[1:]})) == [
        "runs: no longer {'id': 'fedfv_fmnist/qffl/q=0/seed0'}",
        "runs: new {'id': 'fedfv_fmnist/qffl/q=4/seed0'}",
    ]
    many = [f"fedfv_cifar10/qffl/q={q}/seed0" for q in range(9)]
    assert list(differences({"runs": []}, {"runs": many}))[2:] == [
        "runs: new 'fedfv_cifar10/qffl/q=2/seed0'",
        "runs: new, 6 more",
    ]
    (order,) = differences({"runs": runs}, {"runs": runs[::-1]})
    assert order.startswith("runs: [{'id': 'fedfv_fmnist/qffl/q=0") and "characters)" in order
    (twice,) = differences({"runs": many}, {"runs": [*many, many[0]]})
    assert " -> " in twice
    assert list(differences({"columns": ["a", "b"]}, {"columns": ["a", "c"]})) == ["columns: ['a', 'b'] -> ['a', 'c']"]

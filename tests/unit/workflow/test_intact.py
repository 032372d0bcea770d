"""Files that were found intact are not read again until they change."""

import os

from fairfl.workflow.intact import NAME, Intact


def test_a_file_is_read_once_for_each_state(tmp_path):
    path, results = tmp_path / "a.csv", str(tmp_path)

    def known(intact: Intact, expected: str = "sum") -> bool:
        return intact.check(results, str(path), path.stat(), expected)

    path.write_text("1")
    intact = Intact()
    assert [known(intact), known(intact)] == [False, True]
    intact.save()
    assert known(Intact()) and not known(Intact(), "another sum")
    before = path.stat()
    with path.open("r+") as file:  # the same inode, size and time of modification
        file.write("2")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert not known(Intact())


def test_what_is_not_intact_is_forgotten(tmp_path):
    path, intact = tmp_path / "a.csv", Intact()
    path.write_text("1")
    intact.check(str(tmp_path), str(path), path.stat(), "sum")
    intact.forget(str(tmp_path), str(path))
    intact.save()
    assert not Intact().check(str(tmp_path), str(path), path.stat(), "sum")


def test_a_damaged_index_is_no_index(tmp_path):
    (tmp_path / NAME).write_text("{")
    path = tmp_path / "a.csv"
    path.write_text("1")
    assert not Intact().check(str(tmp_path), str(path), path.stat(), "sum")

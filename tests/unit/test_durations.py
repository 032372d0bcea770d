"""The table of what tests take, from the reports of pytest."""

from tests import durations

REPORT = """<testsuites><testsuite>
<testcase classname="tests.unit.test_a" name="x" time="0.26"/>
<testcase classname="tests.unit.test_a" name="y" time="1"/>
<testcase classname="tests.workflow.test_b" name="z" time="61.04"/>
</testsuite></testsuites>"""


def test_files_are_listed_with_their_seconds_the_slowest_first(tmp_path, monkeypatch):
    (tmp_path / "test.xml").write_text(REPORT)
    monkeypatch.setattr(durations, "REPORTS", {kind: tmp_path / f"{kind}.xml" for kind in ("test", "long")})
    monkeypatch.setattr(durations, "DURATIONS", tmp_path / "durations.csv")
    durations.main(["busy"])
    first, *lines = (tmp_path / "durations.csv").read_text().splitlines()
    assert first.endswith(" cores busy") and lines == [
        "file,kind,cases,seconds,longest",
        "tests/workflow/test_b.py,test,1,61.0,61.0",
        "tests/unit/test_a.py,test,2,1.3,1.0",
    ]

"""profiles/sge/status with stand-ins for Grid Engine's commands: a job that may still run is never called failed."""

import subprocess

import pytest

DOWN, UNKNOWN = "error: unable to send message to qmaster using port 6444", "Following jobs do not exist: \n7"
GOOD, BAD, KILLED, AGAIN = (
    f"==========\nfailed       {failed}\nexit_status  {status}\n"
    for failed, status in (("0", 0), ("0", 1), ("100 : assumedly after job", 137), ("25  : rescheduling", 0))
)


@pytest.fixture
def status(root, tmp_path):
    """A function: what the script prints where Grid Engine's commands are these lines of shell."""

    def printed(**commands):
        for name, text in commands.items():
            (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
            (tmp_path / name).chmod(0o755)
        environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
        return subprocess.check_output([root / "profiles/sge/status", "7"], env=environment, text=True)

    return printed


@pytest.mark.parametrize(
    ("qstat", "records", "answer"),
    [
        ("", "", "running"),
        ("", AGAIN, "running"),
        (UNKNOWN, GOOD, "success"),
        (UNKNOWN, BAD, "failed"),
        (UNKNOWN, KILLED, "failed"),
        (UNKNOWN, AGAIN + GOOD, "success"),
        (UNKNOWN, BAD + GOOD, "success"),
        (UNKNOWN, GOOD + BAD, "failed"),
        (DOWN, "", "running"),
        (DOWN, AGAIN, "running"),
        (DOWN, BAD, "running"),  # it may have been queued again since
        (DOWN, GOOD, "success"),
        # Nothing comes of it any more.
        (UNKNOWN, "", "failed"),
        (UNKNOWN, AGAIN, "failed"),
    ],
)
def test_what_snakemake_hears(status, tmp_path, qstat, records, answer):
    slept = tmp_path / "slept"
    commands = {"qacct": f'printf "{records}"', "sleep": f'touch "{slept}"'}
    assert status(qstat=f'printf "{qstat}" >&2; [ -z "{qstat}" ]', **commands) == f"{answer}\n"
    assert slept.exists() == (qstat == UNKNOWN and records in ("", AGAIN))  # the accounting may be late


def test_a_record_that_comes_late_is_waited_for(status, tmp_path):
    """Also that of the last time, where there is one of an earlier time."""
    records = tmp_path / "records"
    records.write_text(AGAIN)
    commands = {"qacct": f'cat "{records}"', "sleep": f'printf "{GOOD}" >> "{records}"'}
    assert status(qstat=f'printf "{UNKNOWN}"; exit 1', **commands) == "success\n"

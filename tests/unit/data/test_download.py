import gzip
import hashlib
import socket

import pytest

from fairfl.data import download
from fairfl.data.download import FileSources
from fairfl.data.interface import RemoteFile
from fairfl.runtime.errors import SourceError
from tests.unit.data import toys

GOOD = gzip.compress(bytes(range(256)) * 40, mtime=0)
OTHER = gzip.compress(b"other content", mtime=0)
SHA = hashlib.sha256(GOOD).hexdigest()
PAGE = b"<!DOCTYPE html><html><body>Sign in</body></html>"


def remote(urls=(), **changes):
    fields = {"name": "x.gz", "sha256": ("0" * 64, SHA), "magic": "gzip", **changes}
    return RemoteFile(urls=tuple(urls), **fields)


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    monkeypatch.setattr(download, "RETRY_DELAYS_S", (0.0, 0.0))
    monkeypatch.setattr(download, "TIMEOUT_S", 2.0)


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "data"


def put(root, data, name="x.gz"):
    toys.put(root / "d" / name, data)
    return root


def names(folder):
    return sorted(p.name for p in folder.rglob("*") if p.is_file())


def bad(data):
    return f"x.gz.bad-{hashlib.sha256(data).hexdigest()[:8]}"


# -- order


def test_local_file_is_used_without_asking_anybody(folder, tmp_path, server):
    put(folder, GOOD)
    mirror = put(tmp_path / "m", GOOD)
    found = FileSources(folder, [str(mirror), server.url]).find(remote([server.url + "/x.gz"]), "d")
    assert (found.source, found.sha256, found.bytes) == ("local folder", SHA, len(GOOD))
    assert (found.name, found.path) == ("x.gz", "d/x.gz")
    assert server.requests == []


def test_mirrors_in_order_then_upstream_in_order(folder, tmp_path, server):
    server.answers["/b/x.gz"] = [(200, {}, GOOD)]
    urls = [server.url + "/a/x.gz", server.url + "/b/x.gz"]
    mirrors = [str(tmp_path / "none"), server.url + "/mirror/"]
    found = FileSources(folder, mirrors).find(remote(urls), "d")
    assert found.source == "upstream"
    assert [path for path, _ in server.requests] == ["/mirror/d/x.gz", "/a/x.gz", "/b/x.gz"]
    assert all("fairfl" in sent["User-Agent"] for _, sent in server.requests)
    assert {sent["Accept-Encoding"] for _, sent in server.requests} == {"identity"}


# -- another form


def in_two_forms(urls=()):
    digest = hashlib.sha256(OTHER).hexdigest()
    return remote(urls, instead=RemoteFile("y.gz", (), sha256=(digest,)))


def test_the_other_form_is_taken_if_no_source_has_the_first(folder, tmp_path, server, capsys):
    sources = FileSources(folder, [str(put(tmp_path / "m", OTHER, name="y.gz"))])
    for _ in range(2):
        copy = sources.find(in_two_forms(), "d")
        assert copy.path == "d/y.gz"
        assert "d: no usable copy of x.gz; looking for y.gz instead" in capsys.readouterr().err
    assert copy.source == "local folder"
    server.answers["/x.gz"] = [(200, {}, GOOD)]
    assert sources.find(in_two_forms([server.url + "/x.gz"]), "d").name == "x.gz"


# -- several files
@pytest.mark.parametrize(
    ("gone", "otherwise", "message"),
    [
        ("", "", ""),
        ("y", "what the digits say", ""),
        ("x", "", "no usable copy of x.gz.* needs no files$"),
        ("xz", "", r"no usable copy of x.gz.* \(also without a usable copy: d/z.gz\)$"),
        ("xyz", "what the digits say", r"no usable copy of x.gz.* \(also without a usable copy: d/z.gz\)$"),
    ],
)
def test_one_that_is_missing_fails_unless_the_data_do_without(folder, capsys, gone, otherwise, message):
    for name in set("xyz") - set(gone):
        put(folder, GOOD, f"{name}.gz")
    files = [remote(name=f"{name}.gz", otherwise=otherwise if name == "y" else "") for name in "xyz"]
    if message:
        with pytest.raises(SourceError, match=message):
            FileSources(folder).find_all(files, "d")
    else:
        found = [copy.name for copy in FileSources(folder).find_all(files, "d")]
        assert found == [f"{name}.gz" for name in "xyz" if name not in gone]
    said = capsys.readouterr().err
    assert ("d: goes without y.gz: what the digits say. The reason: d: no usable copy" in said) == ("y" in gone)


# -- bad files


ZIP = toys.zipped([("a", b"1" * 99)], packing=0)
NO_SUM = {"sha256": ()}
BAD = [
    (b"", {}, "empty file"),
    (PAGE, {}, r"a web page \(HTML\)"),
    (b"\x89PNG....", {}, "wrong format: starts with 89504e47, not with a gzip header"),
    (OTHER, {}, "checksum mismatch: sha256 .* expected 000000000000 or"),
    (GOOD[:-9], {}, "truncated gzip file; checksum mismatch"),
    (OTHER, {"sha256": (), "md5": "1" * 32}, "mismatch: md5"),
    (GOOD[:-9], NO_SUM, "truncated gzip file"),
    (GOOD[:40] + b"\xff\x00\xff" + GOOD[43:], NO_SUM, "truncated or damaged gzip file"),
    (ZIP.replace(b"1" * 99, b"2" * 99), NO_SUM | {"magic": "torch"}, r"damaged torch file \(member a\)"),
]


@pytest.mark.parametrize(("data", "changes", "message"), BAD, ids=[message for *_, message in BAD])
def test_bad_local_file_is_set_aside(folder, capsys, data, changes, message):
    put(folder, data)
    with pytest.raises(SourceError, match=message) as caught:
        FileSources(folder, [], offline=True).find(remote(**changes), "d")
    assert f"set aside as {bad(data)}" in str(caught.value)
    assert names(folder) == [bad(data)]
    assert f"set aside as {bad(data)}" in capsys.readouterr().err


def test_bad_mirror_file_is_set_aside_and_the_next_source_asked(folder, tmp_path, capsys):
    mirror, second = put(tmp_path / "m", OTHER), put(tmp_path / "m2", GOOD)
    assert FileSources(folder, [str(mirror), str(second)]).find(remote(), "d").source == "mirror"
    damaged, copied = capsys.readouterr().err.splitlines()
    assert f"mirror {mirror}: checksum mismatch" in damaged
    assert copied == f"d: d/x.gz: copied from mirror {second} ({len(GOOD)} bytes)"
    assert FileSources(folder).find(remote(), "d").source == "local folder" and not capsys.readouterr().err
    assert (folder / "d" / "x.gz").read_bytes() == GOOD
    assert (folder / "d" / bad(OTHER)).read_bytes() == OTHER
    assert (mirror / "d" / "x.gz").read_bytes() == OTHER  # the mirror is not ours to change


# -- network


CUT = (200, {"Content-Length": str(len(GOOD))}, GOOD[:50])


@pytest.mark.parametrize("passing", [(503, 429), (500, 502), (504, CUT)])
def test_passing_failures_are_tried_again(folder, server, passing):
    answers = [(answer, {}, b"") if isinstance(answer, int) else answer for answer in passing]
    server.answers["/x.gz"] = [*answers, (200, {}, GOOD)]
    found = FileSources(folder, []).find(remote([server.url + "/x.gz"]), "d")
    assert found.sha256 == SHA
    assert len(server.requests) == 3
    assert names(folder) == ["x.gz"]


@pytest.mark.parametrize(("status", "requests"), [(404, 1), (430, 1), (501, 1), (503, 3), (505, 1)])
def test_lasting_failures_are_not(folder, server, status, requests):
    server.answers["/x.gz"] = [(status, {}, b"")] * 3 + [(200, {}, GOOD)]
    with pytest.raises(SourceError, match=f"upstream .*: HTTP Error {status}"):
        FileSources(folder, []).find(remote([server.url + "/x.gz"]), "d")
    assert len(server.requests) == requests and names(folder) == []


def test_no_network(folder, monkeypatch):
    def refuse(*_, **options):
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    urls = ["https://one.invalid/x.gz", "https://two.invalid/x.gz"]
    with pytest.raises(SourceError) as caught:
        FileSources(folder, ["/nowhere"]).find(remote(urls), "d")
    assert str(caught.value) == (
        f"d: no usable copy of x.gz. Tried: local folder {folder}/d: missing (no such folder); "
        "mirror /nowhere: missing (no such folder); "
        "upstream https://one.invalid/x.gz: <urlopen error [Errno -2] Name or service not known>; "
        "upstream https://two.invalid/x.gz: <urlopen error [Errno -2] Name or service not known>. "
        f"What to do: put x.gz into {folder}/d/, or name a mirror in config.yaml (mirrors:), "
        "or run with scale=quick, which needs no files"
    )
    assert names(folder) == []


def test_a_server_that_calls_a_packed_file_an_encoding_changes_nothing(folder, server):
    server.answers["/x.gz"] = [(200, {"Content-Encoding": "gzip"}, GOOD)]
    file = remote([server.url + "/x.gz"], sha256=(), md5=hashlib.md5(GOOD).hexdigest())
    assert FileSources(folder).find(file, "d").sha256 == SHA


def test_offline_no_address_is_asked(folder, server):
    server.answers["/x.gz"] = server.answers["/d/x.gz"] = [(200, {}, GOOD)]
    with pytest.raises(SourceError, match=r"mirror .*: not tried \(offline\); upstream .*: not tried \(offline\)"):
        FileSources(folder, [server.url], offline=True).find(remote([server.url + "/x.gz"]), "d")
    assert server.requests == []

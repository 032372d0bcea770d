"""python -m fairfl.reporting.archive: source, record, tables and figures as one zip file that may be given a DOI.

What git has at HEAD (the lock, CITATION.cff and the record among it) and the results that were built from the record,
described by ro-crate-metadata.json: RO-Crate 1.1, profile Workflow RO-Crate 1.0. The same commit and the same results
give the same bytes, which the library `rocrate` does not: it stamps what it packs with the time of packing.
"""

import argparse
import hashlib
import io
import json
import subprocess
import zipfile
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from fairfl.experiments.workload import Workload, load_workload
from fairfl.recorded.record import SCALE
from fairfl.runtime import atomic, cli
from fairfl.runtime.errors import FairflError

METADATA, SUMS = "ro-crate-metadata.json", "SHA256SUMS"
_RO_CRATE, _WORKFLOW = "https://w3id.org/ro/crate/1.1", "https://w3id.org/workflowhub/workflow-ro-crate/1.0"
_READ = ("papers", "results/recorded", "rules", "scales", "src")  # the results are made from these
_KINDS = {
    ".csv": "text/csv", ".html": "text/html", ".md": "text/markdown", ".pdf": "application/pdf", ".png": "image/png",
    ".tex": "application/x-tex",
}  # fmt: skip
_PARTS = {
    "results/recorded/": "The record: what has been computed at the papers' own scale, a folder per setting",
    "papers/": "The papers' experiments as data, and the numbers that they report",
    "src/": "The code",
    "rules/": "Rules of the workflow",
    "docs/": "Documentation; reproduction.md says what reproduces",
    "tests/": "Tests",
    "envs/requirements.lock": "Versions and hashes of all packages",
    "CITATION.cff": "How to cite",
    "LICENSE": "Licence",
    "README.md": "What this is",
}


# -- what goes in -----------------------------------------------------------------------------
def committed(root: Path) -> dict[str, bytes]:
    """Files at HEAD by path. Raises FairflError, by name, if a file that the results are made from is not as there."""
    changed = _git(root, "status", "--porcelain", "--untracked-files=no").decode().splitlines()
    changed += _git(root, "status", "--porcelain", "--untracked-files=all", "--", *_READ).decode().splitlines()
    if changed:
        raise FairflError(f"{changed[0][3:]}: is not as at HEAD; an archive holds what is committed: commit it first")
    with zipfile.ZipFile(io.BytesIO(_git(root, "archive", "--format=zip", "HEAD"))) as packed:
        return {name: packed.read(name) for name in packed.namelist() if not name.endswith("/")}


def built(root: Path, workload: Workload) -> dict[str, bytes]:
    """The page, its CSVs, tables and figures at paper scale by path. Raises FairflError if one is missing."""
    results = Path("results", SCALE)
    names = [results / name for name in ("index.html", "comparison.csv", "claims.csv", "order.csv")]
    for paper, key, artifact in workload.artifacts.values():
        suffixes: tuple[str, ...] = ("csv", "pdf", "png") if artifact.plot else ("csv", "md", "tex")
        suffixes += ("beside.md", "beside.tex") * (artifact.kind == "table")
        names += [results / paper / f"{key}.{suffix}" for suffix in suffixes]
    missing = [str(name) for name in names if not (root / name).is_file()]
    if missing:
        raise FairflError(f"{missing[0]}: no such file ({len(missing)} are missing); `make recorded` builds them")
    return {name.as_posix(): (root / name).read_bytes() for name in names}


def _git(root: Path, *words: str) -> bytes:
    try:
        done = subprocess.run(["git", *words], cwd=root, capture_output=True)
    except FileNotFoundError:
        raise FairflError("git: not found; an archive holds what git has at HEAD") from None
    if done.returncode:
        raise FairflError(f"git {words[0]}: {done.stderr.decode(errors='replace').strip().splitlines()[-1]}")
    return done.stdout


# -- how it is described ----------------------------------------------------------------------
def metadata(files: dict[str, bytes], workload: Workload, commit: str, date: str) -> dict[str, Any]:
    """ro-crate-metadata.json as data; `date` of the commit."""
    citation = yaml.safe_load(files["CITATION.cff"])
    authors = [_author(number, author) for number, author in enumerate(citation["authors"], 1)]
    papers = [
        {
            "@id": f"https://arxiv.org/abs/{paper.arxiv}",
            "@type": "ScholarlyArticle",
            "name": paper.title,
            "description": paper.citation,
        }
        for paper in workload.papers.values()
        if paper.arxiv
    ]
    artifacts = _artifacts(files, workload)
    parts: list[dict[str, Any]] = [
        {"@id": name, "@type": "Dataset" if name.endswith("/") else "File", "name": name, "description": text}
        for name, text in _PARTS.items()
        if any(path.startswith(name) for path in files)
    ]
    next(part for part in parts if part["@id"] == "README.md").update(about=_id("./"), encodingFormat=_KINDS[".md"])
    workflow = {
        "@id": "Snakefile",
        "@type": ["File", "SoftwareSourceCode", "ComputationalWorkflow"],
        "name": citation["title"],
        "version": commit,
        "conformsTo": _id("https://bioschemas.org/profiles/ComputationalWorkflow/1.0-RELEASE"),
        "programmingLanguage": _id("https://w3id.org/workflowhub/workflow-ro-crate#snakemake"),
        "license": _id(_license(citation["license"])),
        "creator": [_id(author["@id"]) for author in authors],
    }
    language = {
        "@id": "https://w3id.org/workflowhub/workflow-ro-crate#snakemake",
        "@type": "ComputerLanguage",
        "name": "Snakemake",
        "identifier": _id("https://doi.org/10.1093/bioinformatics/bts480"),
        "url": _id("https://snakemake.readthedocs.io"),
    }
    root = {
        "@id": "./",
        "@type": "Dataset",
        "name": citation["title"],
        "description": "Source, recorded results at the papers' own scale, and the tables and figures built from them.",
        "version": citation["version"],
        "identifier": commit,
        "datePublished": date[:10],
        "license": _id(_license(citation["license"])),
        "creator": [_id(author["@id"]) for author in authors],
        "citation": [_id(paper["@id"]) for paper in papers],
        "mainEntity": _id("Snakefile"),
        "hasPart": [_id(part["@id"]) for part in (workflow, *parts, *artifacts)],
    }
    descriptor = {
        "@id": METADATA,
        "@type": "CreativeWork",
        "about": _id("./"),
        "conformsTo": [_id(_RO_CRATE), _id(_WORKFLOW)],
    }
    spdx = {"@id": _license(citation["license"]), "@type": "CreativeWork", "name": citation["license"]}
    graph = [descriptor, root, workflow, language, *authors, spdx, *papers, *parts, *artifacts]
    return {"@context": f"{_RO_CRATE}/context", "@graph": graph}


def _artifacts(files: dict[str, bytes], workload: Workload) -> list[dict[str, Any]]:
    """Every file below results/paper/, each with the paper that its table or figure is from."""
    found = []
    for path in (path for path in sorted(files) if path.startswith(f"results/{SCALE}/")):
        size = str(len(files[path]))
        entity: dict[str, Any] = {"@id": path, "@type": "File", "name": Path(path).name, "contentSize": size}
        entity["encodingFormat"] = _KINDS[Path(path).suffix]
        name = "_".join(path.split("/")[2:]).partition(".")[0]
        if name in workload.artifacts:
            paper, _, artifact = workload.artifacts[name]
            entity["name"] = f"{artifact.title} of {paper}: {Path(path).name}"
            if arxiv := workload.papers[paper].arxiv:
                entity["isBasedOn"] = _id(f"https://arxiv.org/abs/{arxiv}")
        found.append(entity)
    return found


def _author(number: int, author: dict[str, str]) -> dict[str, str]:
    """A person, or an entity that CITATION.cff has by `name` alone."""
    names = " ".join(author[key] for key in ("given-names", "family-names") if key in author)
    known = {ours: author[key] for key, ours in (("affiliation", "affiliation"), ("website", "url")) if key in author}
    kind = {"@type": "Person", "name": names} if names else {"@type": "Organization", "name": author["name"]}
    return {"@id": author.get("orcid", f"#author-{number}"), **kind, **known}


def _license(name: str) -> str:
    return f"https://spdx.org/licenses/{name}"


def _id(of: str) -> dict[str, str]:
    return {"@id": of}


# -- the file -----------------------------------------------------------------------------------
def packed(files: dict[str, bytes], folder: str, date: str) -> bytes:
    """A zip file with everything in one folder, in the order of names, with the time of the commit."""
    time = datetime.fromisoformat(date).timetuple()[:6]
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(f"{folder}/{name}", (max(time[0], 1980), *time[1:]))
            entry.compress_type, entry.external_attr, entry.create_system = zipfile.ZIP_DEFLATED, 0o100644 << 16, 3
            archive.writestr(entry, files[name], compresslevel=9)
    return out.getvalue()


def archive(root: Path, workload: Workload) -> tuple[str, bytes]:
    """Name and content of the archive of a project. Raises FairflError if anything is not committed or not built."""
    sources = committed(root)
    commit, date = _git(root, "show", "--no-patch", "--format=%H %cI", "HEAD").decode().split()
    files = {**sources, **built(root, workload)}
    files[METADATA] = json.dumps(metadata(files, workload, commit, date), indent=1, ensure_ascii=False).encode() + b"\n"
    files[SUMS] = "".join(f"{hashlib.sha256(files[name]).hexdigest()}  {name}\n" for name in sorted(files)).encode()
    name = f"fairfl-{yaml.safe_load(sources['CITATION.cff'])['version']}-{commit[:12]}"
    return f"{name}.zip", packed(files, name, date)


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m fairfl.reporting.archive", description=__doc__)
    parser.add_argument("--root", type=Path, default=Path("."), help="folder of the Snakefile")
    parser.add_argument("--out", type=Path, default=Path("dist"), help="folder to write into")
    args = parser.parse_args(argv)
    name, data = archive(args.root, load_workload(args.root, {"scale": SCALE}))
    atomic.write_bytes(args.out / name, data)
    print(f"wrote {args.out / name} ({len(data) / 1e6:.1f} MB)")


if __name__ == "__main__":
    cli.run(main)

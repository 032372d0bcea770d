"""A CSV file of one's own: types are converted, no checksum is asked for, an edit of the file is noticed."""

import hashlib
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import yaml

from fairfl.data import local_csv
from fairfl.data.formats import csv_table
from fairfl.experiments.parts import Data
from fairfl.jobs import fetch
from fairfl.runtime.errors import DataError, FairflError, SourceError
from tests.unit.data import toys

CASES = yaml.safe_load(Path(__file__).with_name("tables.yaml").read_text(encoding="utf-8"))


@pytest.fixture()
def table(tmp_path):
    """Writes the file into a data folder; prepares it under options."""

    def prepare(text, **options):
        toys.put(tmp_path / "local_csv" / "table.csv", text.encode() if isinstance(text, str) else text)
        return local_csv.prepare(tmp_path, local_csv.Config(**options), 0)

    return prepare


@pytest.mark.parametrize(("text", "options", "inputs", "labels", "owners", "words"), CASES["read"])
def test_what_becomes_of_a_table(table, text, options, inputs, labels, owners, words):
    prepared = table(text, **options)
    tensors, metadata = prepared.tensors, prepared.metadata
    np.testing.assert_allclose(tensors["inputs"], inputs, rtol=1e-6)
    assert tensors["inputs"].dtype == np.float32 and tensors["labels"].tolist() == labels
    assert metadata["classes"] == ("0" if options.get("task") else "2") and words in metadata["source"]
    if owners:
        assert tensors["client"].tolist() == owners


@pytest.mark.parametrize(("words", "places"), CASES["alike"])
def test_numbers_of_one_value_are_one_class_owner_and_category(table, words, places):
    rows = "".join(f"{word},{word},{word},{n % 2}\n" for n, word in enumerate(words.split()))
    prepared = table("label,who,kind,x\n" + rows, client="who", categories=["kind"], task="classes").tensors
    assert prepared["labels"].tolist() == places
    assert prepared["client"].tolist() == list(map(list(dict.fromkeys(places)).index, places))
    assert prepared["inputs"][:, :-1].argmax(1).tolist() == places


LATIN = (b"x,label\n1,caf\xe9\n2,b\n", {}, "table.csv: not UTF-8 .*from latin-1 perhaps")


@pytest.mark.parametrize(("text", "options", "message"), [*CASES["refused"], LATIN])
def test_what_cannot_be_read_is_named(table, text, options, message):
    with pytest.raises(DataError, match=message):
        table(text, **options)


def test_numbers_beyond_float64_are_distinct_before_they_are_rounded(table):
    for first in (999_999_999_999_000, 1_700_000_000_000_000_000):
        rows = "".join(f"{first + i},{i % 2}\n" for i in range(200))
        inputs = table("t,label\n" + rows, standardize=True).tensors["inputs"][:, 0]
        np.testing.assert_allclose(inputs, (np.arange(200) - 99.5) / np.arange(200).std(), rtol=1e-6)
    with pytest.raises(DataError, match="t: 200 distinct cells are 1 in float32; give `standardize"):
        table("t,label\n" + rows)
    few_alike = [0, 1, *range(2, 38, 2)]  # 19 of 20 are distinct in float32
    table("t,label\n" + "".join(f"{2**24 + n},{n // 2 % 2}\n" for n in few_alike))
    rows = "".join(f"{i},{9_007_199_254_740_993 + 2 * i}\n" for i in range(7))
    with pytest.raises(DataError, match="label: 7 distinct cells are 1 in float32; subtract a constant"):
        table("x,label\n" + rows, task="number")


@pytest.mark.parametrize(
    ("classes", "samples", "is_refused"),
    [(2, 2, False), (3, 3, True), (3, 4, False), (10, 11, False), (11, 21, True), (11, 22, False)],
)
def test_classes_that_are_nearly_as_many_as_samples_may_be_meant(table, classes, samples, is_refused):
    text = "x,label\n" + "".join(f"{i},{i % classes}\n" for i in range(samples))
    if is_refused:
        with pytest.raises(DataError, match=f"{classes} classes in {samples} samples; give `task: number` or"):
            table(text)
    assert table(text, task="classes" if is_refused else None).metadata["classes"] == str(classes)


def test_a_quote_that_is_open_in_a_large_file(table):
    with pytest.raises(DataError, match="line 3: expected 2 columns, found 2, in an open quote"):
        table('x,label\n1,a\n2,"b\n' + "3,c\n" * 50_000)


def test_zero_bytes_as_a_power_cut_leaves_them_end_no_file(table):
    with pytest.raises(DataError, match="not text: it has zero bytes; the file may be damaged"):
        table("x,label\n1,a\n2,b\n\0\n3,a\n")


@pytest.mark.filterwarnings("ignore")
def test_the_words_of_missing_cells_are_those_of_pandas_and_the_user_s(table):
    from pandas._libs.parsers import STR_NA_VALUES

    assert {word.lower() for word in STR_NA_VALUES} < set(csv_table.MISSING)
    text = "x,label\n-9,no\n1,none\n-9.0,none\n.,no\n4,NA\n"
    options = {"missing": "drop", "na_values": [-9, "."]}
    prepared = table(text, **options, keep_default_na=False)
    assert prepared.tensors["inputs"].tolist() == [[1], [4]]
    said = "2 classes (NA, none); 3 of 5 samples with missing cells ('-9', '-9.0', '.') left out"
    assert said in prepared.metadata["source"]
    with pytest.raises(DataError, match="no sample is left"):
        table(text, **options)


def test_true_clusters_are_those_of_the_owners(table):
    text = "x,label,who,group\n1,a,p,2\n2,b,q,1\n3,a,r,2.0\n4,b,q,1\n"
    assert table(text, client="who", cluster="group").metadata["clusters"] == "[1, 0, 1]"
    with pytest.raises(DataError, match="group: owner 'q' is in '1' and '3'; expected one cluster for each owner"):
        table(text.replace("4,b,q,1", "4,b,q,3"), client="who", cluster="group")
    with pytest.raises(ValueError, match="name their column `client`"):
        table(text, cluster="group", features=["x"])


def test_a_missing_file_and_a_name_with_a_folder(tmp_path):
    with pytest.raises(SourceError, match="local_csv/table.csv: missing"):
        local_csv.prepare(tmp_path, local_csv.Config(), 0)
    for name in ("../table.csv", "my table.csv"):
        with pytest.raises(ValueError, match=r"rename the file; expected letters, digits, _ \. - without"):
            local_csv.Config(file=name)


FIRST, EDITED = "x,label\n1,a\n2,b\n", "x,label\n1,a\n3,b\n"


@pytest.fixture()
def planned(tmp_path):
    """Writes the file into a folder; what fetching is planned from, where these folders are mirrors."""
    data = Data(name="local_csv", **local_csv.Config().model_dump(mode="json"))

    def plan(*mirrors, offline=True, **texts):
        for folder, text in texts.items():
            toys.put(tmp_path / folder / "local_csv/table.csv", text.encode())
        config = SimpleNamespace(data_folder=str(tmp_path / "data"), mirrors=mirrors, offline=offline)
        found = fetch.spec(SimpleNamespace(config=config, prepared_by=lambda key: (data, 0)), "local_csv")["files"]
        return found["local_csv/table.csv"]

    return plan


def fetched(folder, *places, files=None):
    spec = ["--spec", json.dumps({"files": {"local_csv/table.csv": files}})] if files else []
    words = ["--dataset", "local_csv", "--folder", str(folder / "data"), "--out", str(folder / "m.json"), *spec]
    fetch.main(words + [word for place in places for word in ("--mirror", place)])


def digests(text):
    return [hashlib.sha256(text.encode()).hexdigest()]


@pytest.mark.parametrize("address", ["{}", "file://{}"])
def test_a_file_in_a_mirror_is_known_before_it_is_fetched(planned, tmp_path, address):
    """Once, so that nothing runs twice, and an edit of it is noticed."""
    places = "http://localhost:9", str(tmp_path / "nowhere"), *(address.format(tmp_path / name) for name in "mn")
    assert planned(*places) == [None]
    assert planned(*places, n=EDITED) == digests(EDITED)
    assert planned(*places, m=FIRST) == digests(FIRST), "the first mirror that has it"
    assert planned(*places, offline=False) == [None], "an address may have it"
    fetched(tmp_path, *places[1:])
    assert planned(*places) == planned() == digests(FIRST)
    assert planned(*places, m=EDITED) == digests(FIRST), "the copy in the data folder is the one that is used"
    (tmp_path / "data/local_csv/table.csv").unlink()
    assert planned(*places) == digests(EDITED)


def test_a_file_that_was_edited_after_the_plan_is_not_fetched_under_its_name(planned, tmp_path):
    mirror = str(tmp_path / "m")
    first = planned(mirror, m=FIRST)
    planned(m=EDITED)
    with pytest.raises(FairflError, match="table.csv: is not the file that this job was planned with; run the same"):
        fetched(tmp_path, mirror, files=first)
    assert not (tmp_path / "m.json").exists()
    fetched(tmp_path, mirror, files=planned())
    assert (tmp_path / "m.json").exists()

"""A CSV file of one's own: types are converted, no checksum is asked for, an edit of the file is noticed."""

import hashlib
import json
from types import SimpleNamespace

import numpy as np
import pytest

from fairfl.data import local_csv
from fairfl.data.formats import csv_table
from fairfl.experiments.parts import Data
from fairfl.jobs import fetch
from fairfl.runtime.errors import DataError, FairflError, SourceError
from tests.unit.data import toys

POINTS = """x,y,label,who
1,0.5,no,ann
2,-1,yes,bob
3,1e-1,no,ann
"""


@pytest.fixture()
def table(tmp_path):
    """Writes the file into a data folder; prepares it under options."""

    def prepare(text, **options):
        toys.put(tmp_path / "local_csv" / "table.csv", text.encode() if isinstance(text, str) else text)
        return local_csv.prepare(tmp_path, local_csv.Config(**options), 0)

    return prepare


HOLES = """x,y,label,who
1,10,no,ann
NA,20,yes,bob
5,?,no,ann
3,30,,bob
9,30,yes,
"""

GLUCOSE = "glucose,age,label\n0,0,0\n90,50,1\n100,40,0\n"
TWICE = "x,score,label,score\n1,7,a,8\n2,7,b,8\n"  # a column that nobody uses may be there twice
# Text, options, inputs, labels, owners, words of the source.
SEXES = "sex,x,town,label\nf,1,b,u\nm,-1,a,v\n,1,b,u\nf,-1,b,v\n"
TABLES = [
    (POINTS, {"client": "who"}, [[1, 0.5], [2, -1], [3, 0.1]], [0, 1, 0], [0, 1, 0],
     "table.csv: label from x, y; 3 samples, 2 classes (no, yes), 2 owners (ann, bob)"),
    ("size,price,age\n1,10,3\n2,2.5,4\n", {"label": "price", "task": "number", "features": ["age"]}, [[3], [4]],
     [10, 2.5], None, "price from age"),
    # A byte order mark, carriage returns, blanks and empty lines; semicolons.
    (b"\xef\xbb\xbfx, label\r\n1 , a\r\n 2,b\r\n\r\n 2,b\r\n", {}, [[1], [2], [2]], [0, 1, 1], None, "(a, b)"),
    ("x;label\n1;a\n2;b\n", {}, [[1], [2]], [0, 1], None, "label from x"),
    (HOLES.replace("NA,20", "2,20"), {"client": "who", "missing": "drop"}, [[1, 10], [2, 20]], [0, 1], [0, 1],
     "3 of 5 samples with missing cells ('', '?') left out"),
    # Those without label or owner are left out and count in no mean.
    (HOLES, {"client": "who", "missing": "mean"}, [[1, 10], [3, 20], [5, 15]], [0, 1, 0], [0, 1, 0],
     "2 of 5 samples with missing cells ('') left out; missing cells are means"),
    # Of no sex: the shares.
    (SEXES, {"categories": ["sex", "town"], "missing": "mean", "standardize": True},
     [[1, 0, 1, 0, 1], [0, 1, -1, 1, 0], [2 / 3, 1 / 3, 1, 0, 1], [1, 0, -1, 0, 1]], [0, 1, 0, 1], None,
     "table.csv: label from sex (one-hot), x, town (one-hot); 4 samples"),
    (POINTS, {"client": "label", "features": ["x"]}, [[1], [2], [3]], [0, 1, 0], [0, 1, 0],
     "2 owners (no, yes), who are the classes"),
    (POINTS, {"client": "x", "features": ["x", "y"]}, [[1, 0.5], [2, -1], [3, 0.1]], [0, 1, 0], [0, 1, 2], "3 owners"),
    ("x,y,label\n1,7,a\n3,7,b\n5,7,a\n", {"standardize": True}, [[-(1.5**0.5), 0], [0, 0], [1.5**0.5, 0]], [0, 1, 0],
     None, "; standardized"),
    (GLUCOSE, {"na_values": {"glucose": [0]}, "missing": "drop"}, [[90, 50], [100, 40]], [1, 0], None, ""),
    (GLUCOSE, {"na_values": {"glucose": [0]}, "missing": "mean"}, [[95, 0], [90, 50], [100, 40]], [0, 1, 0], None, ""),
    # Lines are split where header and lines are split alike.
    ('"Temp, C";label\n1;a\n2;b\n', {}, [[1], [2]], [0, 1], None, "label from Temp, C;"),
    ('"Temp;\nin C",label\n"1",a\n2,b\n', {}, [[1], [2]], [0, 1], None, r"label from 'Temp;\nin C';"),
    ("t|label\n1|a,b\n2|b,c\n", {}, [[1], [2]], [0, 1], None, "(a,b, b,c)"),
    ("t\tlabel\n1\ta;b\n2\tb;c\n", {}, [[1], [2]], [0, 1], None, "(a;b, b;c)"),
    ("t,label;kind\n1,a;b\n2,b;b\n", {"label": "label;kind"}, [[1], [2]], [0, 1], None, "(a;b, b;b)"),
    (TWICE, {"features": ["x"]}, [[1], [2]], [0, 1], None, ""),
    ("x,label\n1,TRUE\n2,FALSE\n", {}, [[1], [2]], [1, 0], None, "2 classes (FALSE, TRUE)"),
    ("x,label\n1,TRUE\n2,True\n", {}, [[1], [2]], [0, 1], None, "(TRUE, True, of which some differ in case only)"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "options", "inputs", "labels", "owners", "words"), TABLES)
def test_what_becomes_of_a_table(table, text, options, inputs, labels, owners, words):
    prepared = table(text, **options)
    tensors, metadata = prepared.tensors, prepared.metadata
    np.testing.assert_allclose(tensors["inputs"], inputs, rtol=1e-6)
    assert tensors["inputs"].dtype == np.float32 and tensors["labels"].tolist() == labels
    assert metadata["classes"] == ("0" if options.get("task") else "2") and words in metadata["source"]
    if owners:
        assert tensors["client"].tolist() == owners


@pytest.mark.parametrize(
    ("words", "places"),
    [
        ("1 1.0 1e+0 +1 01 .5 5E-1 0.50", [1, 1, 1, 1, 1, 0, 0, 0]),
        ("9007199254740993 9007199254740992 9007199254740993", [1, 0, 1]),  # one as floats
        ("1 2 other 1.0 02", [0, 1, 2, 0, 1]),  # among words
        ("482e9377160421985123466 1e3 1000 10e2 1e+3", [3, 2, 0, 1, 0]),  # of hexadecimal digits
        ("TRUE True 1 FALSE 1", [2, 3, 0, 1, 0]),
        ("\u0661 1 \u0661", [1, 0, 1]),
    ],
)
def test_numbers_of_one_value_are_one_class_owner_and_category(table, words, places):
    rows = "".join(f"{word},{word},{word},{n % 2}\n" for n, word in enumerate(words.split()))
    prepared = table("label,who,kind,x\n" + rows, client="who", categories=["kind"], task="classes").tensors
    assert prepared["labels"].tolist() == places
    assert prepared["client"].tolist() == list(map(list(dict.fromkeys(places)).index, places))
    assert prepared["inputs"][:, :-1].argmax(1).tolist() == places


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (POINTS, {"label": "labels"}, "table.csv: no column 'labels', split at ','; did you mean 'label'"),
        (POINTS, {}, "table.csv: sample 1: who: 'ann' is not a number .*name a feature of words in `categories`"),
        ("x,label\n1,a\nnan,b\n", {}, "sample 2: x: 'nan' is a missing cell; give `missing: drop` or `missing: mean`"),
        ("x,label\n1,a\ninf,b\n", {"missing": "mean"}, "sample 2: x: 'inf' is not a number"),
        ("x,label\n?,a\nNA,b\n", {"missing": "mean"}, "x: no sample has a value"),
        ("x,label\n1,?\nNA,b\n", {"missing": "drop"}, "no sample is left without a missing cell in label, x"),
        ("x,label\n1,a\n2,a\n", {}, "column 'label' has one class only, 'a'"),
        ("x,label\n1,a\n2\n", {}, "sample 2: label: '' is a missing cell; give `missing: drop`$"),
        ("x,label\n1,a\n2,b,c\n", {}, "not CSV.*line 3"),
        (POINTS + "4,4,yes,\n", {"client": "who"}, "sample 4: who: '' is a missing cell; give `missing: drop`$"),
        (POINTS, {"features": ["x", "label"]}, "features: 'label' is the label"),
        (POINTS, {"features": ["x"], "categories": ["y"]}, "categories: 'y' is not among the features"),
        ("x,,label\n1,7,a\n2,8,b\n", {}, "column 2 has no name .*name the `features`, or write the file without its"),
        ("x,label\n1_0,a\n2,b\n", {}, "sample 1: x: '1_0' is not a number"),
        ("x,label\n1,a\n1e999,b\n", {"standardize": True}, "sample 2: x: '1e999' is not a finite number"),
        ("x,label\n1,1.5\n2,2.5\n3,0.5\n", {}, "label: 3 classes in 3 samples; give `task: number` or `task"),
        ("t,label\n2000000001,a\n2000000002,b\n2000000003,a\n", {}, "t: 3 distinct cells are 1 in float32; give"),
        (TWICE, {}, "2 columns have the name 'score'"),
        (TWICE, {"features": ["score"]}, "2 columns have the name 'score'"),
        (TWICE, {"features": ["x"], "client": "score"}, "2 columns have the name 'score'"),
        ("5.1,3.5,setosa\n4.9,3.0,virginica\n", {}, "no column 'label'; its first line must name the columns"),
        (b"x,label\n1,caf\xe9\n2,b\n", {}, "table.csv: not UTF-8 .*from latin-1 perhaps"),
        ('x,"q\nz"\n1,a\n', {}, r"known: x, 'q\\nz'$"),
        ("x,label\n1,north\n2,nor\u200bth\n", {}, r"label: 'north' and 'nor\\u200bth' look alike: write one"),
        ("x,label\n1,caf\u00e9\n2,cafe\u0301\n", {}, r"'caf\\xe9' and 'cafe\\u0301' look alike"),
        (POINTS, {"na_values": {"z": [0]}}, "na_values: no column 'z'; known: x, y, label, who"),
        ("x;label\n1,5;a\n2;b;c\n", {}, "not CSV, split at ';'"),
        ("x,label\n", {}, "expected a header and a line per sample, found 1 lines in all"),
        ("x,label\n1,b\n", {"task": "number"}, "sample 1: label: 'b' is not a number"),
    ],
)
def test_what_cannot_be_read_is_named(table, text, options, message):
    with pytest.raises(DataError, match=message):
        table(text, **options)


def test_numbers_beyond_float64_are_distinct_before_they_are_rounded(table):
    rows = "".join(f"{1_700_000_000_000_000_000 + i},{i % 2}\n" for i in range(200))
    inputs = table("t,label\n" + rows, standardize=True).tensors["inputs"][:, 0]
    np.testing.assert_allclose(inputs, (np.arange(200) - 99.5) / np.arange(200).std(), rtol=1e-6)
    with pytest.raises(DataError, match="t: 200 distinct cells are 1 in float32; give `standardize"):
        table("t,label\n" + rows)
    rows = "".join(f"{i},{9_007_199_254_740_993 + 2 * i}\n" for i in range(7))
    with pytest.raises(DataError, match="label: 7 distinct cells are 1 in float32; subtract a constant"):
        table("x,label\n" + rows, task="number")


def test_classes_that_are_as_many_as_samples_may_be_meant(table):
    text = "x,label\n" + "".join(f"{i},{i}\n" for i in range(12))
    with pytest.raises(DataError, match="12 classes in 12 samples"):
        table(text)
    assert table(text, task="classes").metadata["classes"] == "12"


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

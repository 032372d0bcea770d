"""config.yaml and --config: every value that cannot be run is refused with file, key, value and a way out."""

import pytest
import yaml

from fairfl.experiments.config import Config
from fairfl.experiments.strict import load
from fairfl.experiments.workload import load_workload
from fairfl.runtime.validation import check
from tests.bad_input.refusals import refused

PLAIN = {"scale": "quick", "papers": ["eagle"]}


def lol(levels):
    """A document whose aliases multiply to 9 ** levels values."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, levels)]
    return "\n".join(lines).encode()


def merges(levels):
    """The same with merge keys, which copy what they merge."""
    lines = ["m0: &m0 {x: 1}"]
    lines += [f"m{n}: &m{n} {{<<: [{', '.join([f'*m{n - 1}'] * 9)}]}}" for n in range(1, levels)]
    return "\n".join(lines).encode()


def circle():
    value = {"significance_level": 0.1}
    value["self"] = value
    return value


def deep(levels):
    value = []
    for _ in range(levels):
        value = [value]
    return value


def wide(levels):
    value = ["x"] * 10
    for _ in range(levels):
        value = [value] * 10
    return value


VALUES = [
    ({"seeds": [99999999999999999999]}, "seeds.0: 99999999999999999999: a whole number has at most 64 bits"),
    ({"seeds": [10**400]}, "seeds.0: a whole number of 1329 bits: a whole number has at most 64 bits"),
    ({"seeds": [2**32]}, "seeds.0: 4294967296: expected less than 4294967296"),
    ({"seeds": [-1]}, "seeds.0: -1: expected 0 or more"),
    ({"seeds": "0-4"}, "seeds.0: '0-4': expected a whole number; several are written 0,1,2"),
    ({"seeds": [0, 0]}, "seeds: 0 is given twice"),
    ({"seeds": True}, "seeds: True: expected numbers, not true or false"),
    ({"threads": 1e9}, "threads: 1000000000.0: expected 256 or less"),
    ({"checkpoint_seconds": float("nan")}, "checkpoint_seconds: nan: not a finite number"),
    ({"verdict": {"significance_level": "2"}}, "verdict.significance_level: '2': expected less than 1"),
    ({"verdict": {"close_points": True}}, "verdict.close_points: True: expected numbers, not true or false"),
    ({"verdict": circle()}, "nested more than 50 deep, or in a circle"),
    ({"papers": ["eagle", "eagle"]}, "papers: 'eagle' is given twice"),
    ({"papers": ["../eagle"]}, "papers: no paper '../eagle'; did you mean 'eagle'"),
    ({"papers": ["eagle\nerror: x"]}, r"papers: no paper 'eagle\nerror: x'"),
    ({"papers": deep(60)}, "nested more than 50 deep"),
    ({"papers": wide(6)}, "more than 1000000 values"),
    ({"scale": "../../tmp/x"}, "scale: no scale '../../tmp/x'; known:"),
    ({"scale": "q" * 10**6}, "scale: no scale 'qqqq"),
    ({"scale": b"quick"}, "scale: b'quick': not a plain value"),
    ({"scale": "quick\0"}, r"scale: 'quick\x00': a text has no zero byte"),
    ({"scale": "\ud800"}, "not text that UTF-8 can write"),
    ({"artifacts": ["eagle_table1", "eagle_tabel2"]}, "no artifact 'eagle_tabel2'; did you mean 'eagle_table2'"),
    ({"settings": [""]}, "settings: no setting ''"),
    ({"settings": ["*" * 5000 + "!"]}, "settings: no setting '***"),
    ({"algorithms": ["fedavg/../x"]}, "algorithms: no artifact uses 'fedavg/../x'; did you mean 'fedavg'"),
    ({"offline": "perhaps"}, "offline: 'perhaps'"),
    ({"cuda_graphs": "of"}, "cuda_graphs: 'of' is not valid; did you mean 'off'"),
    (
        {"superseded_results_limit": -1},
        "superseded_results_limit: -1: expected a size, 0 or more, such as 0, 500MB or 2GB",
    ),
    ({"superseded_results_limit": "2TBB"}, "superseded_results_limit: '2TBB': expected a size"),
    ({"budget": -1}, "budget: -1"),
    ({"budget": 5, "recorded": "only"}, "budget: 5: nothing is trained with recorded: only"),
    ({"data_folder": ""}, "data_folder: ''"),
    ({"data_folder": "data\nrm -r x"}, r"data_folder: 'data\nrm -r x'"),
    ({"mirrors": ["\x1b[2J"]}, r"mirrors.0: '\x1b[2J'"),
    ({"mirrors": ["ftp://host/data"]}, "mirrors: 'ftp://host/data': no folder or address"),
    ({"mirrors": ["http://[x"]}, "mirrors: 'http://[x': Invalid IPv6 URL"),
    ({"x\ny": 1}, r"'x\ny': unknown key"),
    ({"k" * 10**5: 1}, "unknown key"),
    ({"mirors": ["/data"]}, "mirors: unknown key (value ['/data']); did you mean 'mirrors'"),
]


@pytest.mark.parametrize(("changes", "words"), VALUES, ids=[words[:50] for _, words in VALUES])
def test_values(root, changes, words):
    refused(lambda: load_workload(root, PLAIN | changes), words, begins="config.yaml: ")


@pytest.mark.parametrize("overrides", [None, [], [1, 2], "scale", 3, True])
def test_a_config_that_is_no_mapping(root, overrides):
    refused(lambda: load_workload(root, overrides), "config.yaml: expected `key: value` lines")


CONTENTS = [
    (b"", "expected `key: value` lines, found None"),
    (b"scale\n", "expected `key: value` lines, found 'scale'"),
    (b"scale: quick\nscale: full\n", "line 2: not valid YAML: key 'scale' is given twice"),
    (b"scale:\tquick\n\tpapers: [eagle]\n", "line 2: not valid YAML"),
    (b"scale: quick\n--- \nscale: full\n", "not valid YAML: but found another document"),
    (b"scale: caf\xe9\n", "not UTF-8 text (byte 10)"),
    (b"scale: !!python/object/apply:os.system [id]\n", "could not determine a constructor for the tag"),
    (b"scale: quick\nthreads: 1" + b"0" * 5000, "000': a whole number of 5001 digits"),
    (b"scale: !!binary gIGC\n", "scale: b'\\x80\\x81\\x82': not a plain value"),
    (b"checkpoint_seconds: .nan\n", "checkpoint_seconds: nan: not a finite number"),
    (b"? [a]\n: 2\n", "key ['a'] is not a plain value"),
    (b"papers: &a [*a]\n", "nested more than 50 deep, or in a circle"),
    (b"papers: *nobody\n", "found undefined alias"),
    (b"[" * 100_000, "nested more than 50 deep"),
    (lol(12), "more than 1000000 values, aliases (*name) counted each time"),
    (merges(12), "more than 1000000 values, aliases (*name) counted each time"),
    (b"a: " + b"x" * (17 * 2**20), "larger than 16777216 bytes"),
]


@pytest.mark.parametrize(("content", "words"), CONTENTS, ids=[words[:50] for _, words in CONTENTS])
def test_contents(tmp_path, content, words):
    path = tmp_path / "config.yaml"
    path.write_bytes(content)
    refused(lambda: check(load(path), Config, str(path)), words, begins=str(path))


def test_what_is_unusual_but_fine(tmp_path):
    path = tmp_path / "config.yaml"
    path.write_bytes(b"\xef\xbb\xbfscale: quick\r\npapers: &p [eagle]\r\nartifacts: *p\r\n")
    assert check(load(path), Config, "c").papers == ["eagle"]
    assert check({**PLAIN, "seeds": "0,42", "offline": "true", "threads": "2"}, Config, "c").seeds == [0, 42]
    assert (
        check({**PLAIN, "data_folder": "my data", "mirrors": "file:///x,~nobody/x"}, Config, "c").mirrors[1]
        == "~nobody/x"
    )


def test_several_problems_have_a_line_each(root):
    wrong = PLAIN | {"thread": 2, "device": "gpu", "seeds": []}
    with pytest.raises(Exception, match="thread") as error:
        load_workload(root, wrong)
    lines = str(error.value).split("\n")
    assert len(lines) == 3 and all(line.startswith("config.yaml: ") for line in lines)


def test_the_config_of_the_project_is_valid(root):
    check(yaml.safe_load((root / "config.yaml").read_text()), Config, "config.yaml")

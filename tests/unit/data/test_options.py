"""Options that data sets refuse, each in a line with the key, the value and what is expected."""

import pytest

from fairfl.data.registry import load
from fairfl.experiments.plugins import names
from fairfl.runtime.errors import FairflError
from fairfl.runtime.validation import checked

REFUSED = [
    ("ambiguous_digits", {"weight_low": 0.7}, "weight_low is 0.7; expected <= weight_high 0.6"),
    ("cifar10", {"form": "jpg"}, "form: 'jpg' is not valid; did you mean 'jpeg'"),
    ("dirty_mnist", {"noise_std": -1}, "noise_std: -1: expected 0 or more"),
    ("emnist", {"split": "letters", "form": "test_part"}, "form test_part has split byclass only; split is letters"),
    ("python_text", {"topics": 21}, "topics: 21: expected 20 or less"),
    ("sentiment", {"train": [1, 2, 3]}, r"train: \[1, 2, 3\]: expected 2 or fewer values"),
    ("sentiment", {"vocabulary": 4}, "vocabulary: 4: expected 5 or more"),
    ("stackoverflow", {"max_samples": 10_001}, "max_samples is 10001; expected more than min_samples"),
    ("synthetic_gaussian", {"means": {"0": [1, 1], "2": [1, 1]}}, "means: has clients"),
    ("synthetic_gaussian", {"std": [1, 2]}, "std has 2 values; expected one or 3"),
    ("synthetic_gaussian", {"std": -1}, "std is -1.0; expected 0 or more"),
    ("synthetic_gaussian", {"rotation": {"client": 3, "degrees": 1}}, "rotation.client is 3; expected 0..2"),
    ("synthetic_regression", {"outliers": 11}, r"outliers is 11; expected at most 10 \(clients\)"),
    ("two_quadratics", {"coefficients": [1, -1]}, "coefficients.1: -1: expected more than 0"),
    ("two_quadratics", {"minima": [1, 2, 3]}, "coefficients and minima have 2 and 3 numbers"),
    ("yelp_imdb", {"train": [560_001, 3]}, r"train\[0\] is 560001; expected at most 560000"),
    ("yelp_imdb", {"test": [2, 25_001]}, r"test\[1\] is 25001; expected at most 25000"),
    *((name, {"prat": 1}, r"prat: unknown key \(value 1\)") for name in names("data")),
    *(
        (name, {"classes": classes}, r"classes(\.\d)?: .*(: expected |is given twice)")
        for name in ("digits", "fashion_mnist")
        for classes in ([], [1], [0, 0], [0, 10], [0, 1.0])
    ),
]


@pytest.mark.parametrize(("name", "options", "message"), REFUSED)
def test_options_that_are_refused(name, options, message):
    with pytest.raises(FairflError, match=f"{name}: {message}"):
        checked(options, load(name).Config, name)


@pytest.mark.parametrize(
    ("value", "hint"), [(False, "YAML takes NO, off, on, yes"), (3, "put a text that is a number in quotes")]
)
def test_words_that_yaml_reads_as_something_else(value, hint):
    with pytest.raises(FairflError, match=f"features.0: {value}: expected a text; {hint}"):
        checked({"features": [value]}, load("local_csv").Config, "papers/mine.yaml")

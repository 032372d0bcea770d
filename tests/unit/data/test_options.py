"""Options that data sets refuse, each in a line with the key, the value and what is expected."""

import pytest

from fairfl.data.registry import load
from fairfl.experiments.plugins import names
from fairfl.runtime.errors import FairflError
from fairfl.runtime.validation import checked

REFUSED = [
    ("ambiguous_digits", {"base": "mnsit"}, "base: 'mnsit' is not valid; did you mean 'mnist'"),
    ("ambiguous_digits", {"images": 0}, "images: 0"),
    ("ambiguous_digits", {"labels_per_image": 1.5}, "labels_per_image: 1.5"),
    ("ambiguous_digits", {"weight_low": -0.1}, "weight_low: -0.1"),
    ("ambiguous_digits", {"weight_low": 0.7}, "weight_low is 0.7; expected <= weight_high 0.6"),
    ("ambiguous_digits", {"seed": -1}, "seed: -1"),
    ("cifar10", {"form": "jpg"}, "form: 'jpg' is not valid; did you mean 'jpeg'"),
    ("cifar100", {"part": "tran"}, "part: 'tran' is not valid; did you mean 'train'"),
    ("cinic10", {"non_rgb": "dropped"}, "non_rgb: 'dropped' is not valid; did you mean 'drop'"),
    ("cinic10", {"part": "val"}, "part: 'val' is not valid; did you mean 'valid'"),
    ("dirty_mnist", {"noise_std": -1}, "noise_std: -1: expected 0 or more"),
    ("emnist", {"split": "byclas"}, "split: 'byclas' is not valid; did you mean 'byclass'"),
    ("emnist", {"split": "letters", "form": "test_part"}, "form test_part has split byclass only; split is letters"),
    ("fashion_mnist", {"standardise": "pixels"}, "standardise: 'pixels' is not valid; did you mean 'pixel'"),
    ("fashion_mnist", {"part": "tset"}, "part: 'tset' is not valid; did you mean 'test'"),
    ("femnist", {"form": "h5"}, "form: 'h5'"),
    ("femnist", {"paper": "blank"}, "paper: 'blank' is not valid; did you mean 'black'"),
    ("mnist", {"part": "tset"}, "part: 'tset' is not valid; did you mean 'test'"),
    ("python_text", {"topics": 0}, "topics: 0: expected 1 or more"),
    ("python_text", {"topics": 21}, "topics: 21: expected 20 or less"),
    ("python_text", {"sentences": 0}, "sentences: 0"),
    ("python_text", {"vocabulary": 0}, "vocabulary: 0"),
    ("python_text", {"length": 1.5}, "length: 1.5"),
    ("python_text", {"count_pad": 1}, "count_pad: 1: expected true or false"),
    ("reddit", {"vocabulary": 0}, "vocabulary: 0: expected 1 or more"),
    ("reddit", {"targets": "word"}, "targets: 'word' is not valid; did you mean 'words'"),
    ("reddit", {"validation": "trian"}, "validation: 'trian' is not valid; did you mean 'train'"),
    ("sentiment", {"train": 100}, r"train: 100: expected a list"),
    ("sentiment", {"train": [1, 2, 3]}, r"train: \[1, 2, 3\]: expected 2 or fewer values"),
    ("sentiment", {"test": [5, 0]}, r"test.1: 0: expected 1 or more"),
    ("sentiment", {"test": [5.0, 1]}, r"test.0: 5.0"),
    ("sentiment", {"vocabulary": 4}, "vocabulary: 4: expected 5 or more"),
    ("sentiment", {"max_tokens": 2}, "max_tokens: 2: expected 3 or more"),
    ("stackoverflow", {"users": 0}, "users: 0"),
    ("stackoverflow", {"min_samples": -1}, "min_samples: -1"),
    ("stackoverflow", {"max_samples": 10_001}, "max_samples is 10001; expected more than min_samples"),
    ("stackoverflow", {"order": "random"}, "order: 'random' is not valid; known: stored, drawn"),
    ("stackoverflow", {"count_pad": None}, "count_pad: None"),
    ("synthetic_gaussian", {"means": []}, r"means: \[\]"),
    ("synthetic_gaussian", {"means": [[1, 2, 3]]}, r"means.0: \[1, 2, 3\]"),
    ("synthetic_gaussian", {"means": {"0": [1, 1], "2": [1, 1]}}, "means: has clients"),
    ("synthetic_gaussian", {"means": [["a", 1]]}, r"means.0.0: 'a': expected a number"),
    ("synthetic_gaussian", {"samples_per_client": 0}, "samples_per_client: 0"),
    ("synthetic_gaussian", {"class_balance": 1.5}, "class_balance: 1.5"),
    ("synthetic_gaussian", {"std": [1, 2]}, "std has 2 values; expected one or 3"),
    ("synthetic_gaussian", {"std": -1}, "std is -1.0; expected 0 or more"),
    ("synthetic_gaussian", {"rotation": {"client": 3, "degrees": 1}}, "rotation.client is 3; expected 0..2"),
    ("synthetic_gaussian", {"rotation": 45}, "rotation: 45"),
    ("synthetic_regression", {"clients": 0}, "clients: 0: expected 1 or more"),
    ("synthetic_regression", {"outliers": 11}, r"outliers is 11; expected at most 10 \(clients\)"),
    ("synthetic_regression", {"outliers": -1}, "outliers: -1"),
    ("synthetic_regression", {"dimensions": 2.5}, "dimensions: 2.5"),
    ("synthetic_regression", {"train_per_client": 0}, "train_per_client: 0"),
    ("synthetic_regression", {"noise_std": -0.1}, "noise_std: -0.1: expected 0 or more"),
    ("synthetic_regression", {"inter_cluster_distance": "1"}, "inter_cluster_distance: '1'"),
    ("tiny_imagenet", {"part": "test"}, "part: 'test' is not valid; "),
    ("tiny_imagenet", {"normalise": "imagenett"}, "normalise: 'imagenett' is not valid; did you mean 'imagenet'"),
    ("tiny_imagenet", {"form": "subsett"}, "form: 'subsett' is not valid; did you mean 'subset'"),
    ("two_quadratics", {"coefficients": 2.0}, "coefficients: 2.0: expected a list"),
    ("two_quadratics", {"minima": []}, r"minima: \[\]: expected 1 or more values"),
    ("two_quadratics", {"coefficients": [1, -1]}, "coefficients.1: -1: expected more than 0"),
    ("two_quadratics", {"coefficients": [1, 0]}, r"coefficients.1: 0: expected more than 0"),
    ("two_quadratics", {"minima": [1, "2"]}, "minima.1: '2': expected a number"),
    ("two_quadratics", {"minima": [1, float("inf")]}, "minima.1: inf: expected a finite number"),
    ("two_quadratics", {"minima": [1, 2, 3]}, "coefficients and minima have 2 and 3 numbers"),
    ("yelp_imdb", {"train": [560_001, 3]}, r"train\[0\] is 560001; expected at most 560000"),
    ("yelp_imdb", {"test": [2, 25_001]}, r"test\[1\] is 25001; expected at most 25000"),
    ("yelp_imdb", {"train": [4]}, r"train: \[4\]: expected 2 or more values"),
    ("yelp_imdb", {"yelp": "auto_"}, "yelp: 'auto_' is not valid; did you mean 'auto'"),
    ("yelp_imdb", {"tokenizer": "word"}, "tokenizer: 'word' is not valid; did you mean 'words'"),
    ("yelp_imdb", {"vocabulary": 0}, "vocabulary: 0"),
    ("yelp_imdb", {"max_tokens": None}, "max_tokens: None"),
    *((name, {"prat": 1}, r"prat: unknown key \(value 1\)") for name in names("data")),
    *(
        (name, {"classes": classes}, r"classes(\.\d)?: .*(: expected |is given twice)")
        for name in ("digits", "fashion_mnist")
        for classes in ([], [1], [0, 0], [0, 10], [0, -1], [0, 1.0], [True, 2], "02", {"0": 1}, 3)
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

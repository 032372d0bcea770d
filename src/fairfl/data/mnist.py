"""MNIST: 60000 + 10000 handwritten digits, 28x28 (LeCun, Bottou, Bengio, Haffner 1998)."""

from pathlib import Path
from typing import Literal

from pydantic import Field

from fairfl.data.formats.mnist_files import CLASSES, MnistFiles
from fairfl.data.interface import Prepared, RemoteFile, assemble
from fairfl.experiments.base import Strict

# First the digests of the unpacked files, then of the upstream ones, then of copies in an offline mirror whose pixels,
# order and header are the same and which differ in the gzip bytes only.
FILES = MnistFiles(
    "mnist",
    (
        "https://ossci-datasets.s3.amazonaws.com/mnist/",
        "https://storage.googleapis.com/cvdf-datasets/mnist/",
    ),
    (
        "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    ),
    (
        "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
        "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
        "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
        "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
    ),
    (
        "db8f937d487057fb14a9f0fbe97f0bc8d311ab41b750d41e1ff37c43b9e55e19",
        "51fc562b6747b666fbf6e84ce29d43c3cb5f9c388c664d43b33f02095313405a",
        "cfeddb84311ecf044fc6a5b0f6ee8a24d265d4e83e388400186eb114082f4209",
        "e41c74e484045d39b462a7790a4af51301bd9b0b24f0154798d713ec68c45920",
    ),
)


class Config(Strict):
    """Options of the data set."""

    part: Literal["train", "test", "all"] = Field("all", description="published samples to take")


def files(options: Config) -> tuple[RemoteFile, ...]:
    """The IDX files of the chosen part."""
    return FILES.of(options.part)


def prepare(raw: Path | None, options: Config, seed: int) -> Prepared:
    """inputs uint8 [N, 1, 28, 28], N = 70000, 60000 or 10000; train rows come first, official_test distinguishes them.

    Raises:
        SourceError: a file is missing or damaged.
    """
    images, labels, test = FILES.read(raw, options.part)
    source = f"MNIST, part {options.part}, as published"
    return assemble("mnist", CLASSES, source, images[:, None], labels, official_test=test)

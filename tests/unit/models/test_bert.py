"""BERT: sizes, padding, steps in the sequential backend, and where its weights come from."""

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import nn

from fairfl import models
from fairfl.data import pretrained
from fairfl.runtime.errors import FairflError
from tests.unit.models.test_models_in_engine import BERT

pytest.importorskip("transformers")
pytestmark = pytest.mark.usefixtures("no_models")

PIECES = ["[PAD]", "[UNK]", "[SEP]", "[CLS]", "a", "b", "c", "d", "e"]
TOKENS = torch.tensor([[3, 4, 5, 2, 0, 0], [3, 6, 2, 0, 0, 0], [3, 4, 5, 6, 7, 2], [3, 8, 8, 2, 0, 0]])
LABELS = torch.tensor([0, 1, 1, 0])


def build(outputs=2, seed=0, **changes):
    torch.manual_seed(seed)
    return models.build(BERT | changes, (6,), outputs).eval()


def put(folder, seed=1, pieces=PIECES):
    """A pre-trained model as transformers saves it; returns it."""
    model = build(seed=seed)
    model.bert.save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(pieces) + "\n")
    return model


# ---- the model


def test_number_of_parameters():
    """9 tokens, 6 positions, 2 layers, 3 classes; by the same sum BERT-base has 109,483,778, as published."""
    norm, square, dense = 2 * 8, 8 * 8 + 8, 2 * 8 * 12 + 12 + 8
    embeddings, layer, head = (9 + 6 + 2) * 8 + norm, 4 * square + dense + 2 * norm, square + 8 * 3 + 3
    assert sum(p.numel() for p in build(3).parameters()) == embeddings + 2 * layer + head


def test_padding_is_not_read_and_texts_do_not_see_each_other():
    model = build()
    with torch.no_grad():
        alone = torch.cat([model(row[row != 0].unsqueeze(0)) for row in TOKENS])
        torch.testing.assert_close(model(TOKENS), alone)
        assert not torch.allclose(model(TOKENS[:, :3]), alone)


# ---- where the weights come from


@pytest.mark.parametrize(("name", "folder"), [("auto", "data/bert-base-uncased"), ("data/mine", "data/mine")])
def test_a_pre_trained_model_is_found_and_has_its_own_sizes(tmp_path, monkeypatch, name, folder):
    monkeypatch.chdir(tmp_path)
    saved = put(tmp_path / folder)
    model, other = (build(3, seed=seed, pretrained=name, hidden=4, dropout=0.25) for seed in (0, 1))
    assert model.origin == f"{'bert-base-uncased' if name == 'auto' else name}, pre-trained"
    for key, value in saved.bert.bert.state_dict().items():
        assert torch.equal(model.bert.bert.state_dict()[key], value)
    head, drawn_anew = model.bert.classifier, other.bert.classifier
    assert head.weight.shape == (3, 8) and not torch.equal(head.weight, drawn_anew.weight)
    assert {layer.p for layer in model.modules() if isinstance(layer, nn.Dropout)} == {0.25}


def test_the_published_file_names_its_weights_as_in_2018(tmp_path):
    """bert-base-uncased has gamma and beta, and heads of its pre-training."""
    saved = put(tmp_path / "mine")
    weights = load_file(tmp_path / "mine" / "model.safetensors")
    old = {key.replace("Norm.weight", "Norm.gamma").replace("Norm.bias", "Norm.beta"): w for key, w in weights.items()}
    old = {key: w + 1 for key, w in old.items() if not key.startswith("classifier")} | {"cls.predictions.bias": LABELS}
    assert sum("gamma" in key for key in old) == 5
    save_file(old, tmp_path / "mine" / "model.safetensors", {"format": "pt"})
    found = build(pretrained=str(tmp_path / "mine")).bert.bert.state_dict()
    for key, value in saved.bert.bert.state_dict().items():
        assert torch.equal(found[key], value + 1)


def test_a_model_that_is_not_there_or_not_complete(tmp_path):
    message = "model.pretrained: 'bert-base-cased' is neither a folder with config.json, vocab.txt, model.safetensors"
    with pytest.raises(FairflError, match=message):
        build(pretrained="bert-base-cased")
    put(tmp_path / "data" / "bert-base-uncased")
    (tmp_path / "data" / "bert-base-uncased" / "vocab.txt").unlink()
    assert "from random weights" in build(pretrained="auto").origin


# ---- data that do not fit


def test_tokens_are_checked(tmp_path):
    model = build()
    model.check(TOKENS)
    model.check(TOKENS[:0])
    with pytest.raises(ValueError, match=r"the model knows 9 tokens \(model.vocabulary\), the data have the token 9"):
        model.check(TOKENS + 1)
    put(tmp_path / "mine")
    trained = build(pretrained=str(tmp_path / "mine"))
    trained.check(TOKENS)
    with pytest.raises(ValueError, match="whose texts begin with token 3, the data have another vocabulary"):
        trained.check(TOKENS.clamp(max=2))


def test_data_of_the_published_vocabulary_are_not_for_what_stands_in_for_it():
    """It was there when they were prepared, and is gone."""
    tokens = TOKENS.clone()
    tokens[:, 0] = pretrained.FIRST
    awaited = build(pretrained="auto", vocabulary=200)
    with pytest.raises(ValueError, match="bert-base-uncased, which is no longer here .*fetch it again"):
        awaited.check(tokens)
    awaited.check(TOKENS)
    awaited.check(tokens[:0])
    build(pretrained=None, vocabulary=200).check(tokens)

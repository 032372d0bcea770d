"""BERT with a linear head on the pooled [CLS]: logits [n, C] for tokens [n, T]; token 0 is padding.

FOCUS: "a pre-trained BERT-base model" (Devlin et al. 2019) for Yelp and IMDb; 109,483,778 parameters with a head for
two classes. The layers are from transformers, `BertForSequenceClassification`. The default sizes are a small
BERT's that learns from random weights within minutes, where the pre-trained one is not at hand; which of the two a
model is, its `origin` says.
"""

from pathlib import Path
from typing import Any

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from fairfl.data import pretrained
from fairfl.experiments.base import Strict
from fairfl.runtime.errors import FairflError

LIBRARIES = ("transformers.models.bert.modeling_bert",)


class Config(Strict):
    pretrained: str | None = Field(
        "auto",
        description="a model of the Hugging Face hub in its cache or in the data folder, or a folder; null: random "
        "weights; auto: bert-base-uncased if this machine has it, else random weights. The sizes below are of random "
        "weights only. Nothing is downloaded: fetching the data does that",
    )
    dropout: float = Field(0.1, ge=0, lt=1, description="of hidden units and of attention")
    hidden: int = Field(64, ge=1, description="numbers per token")
    layers: int = Field(2, ge=1)
    heads: int = Field(2, ge=1, description="of attention, in each layer; a divisor of hidden")
    intermediate: int = Field(128, ge=1, description="units of the dense layer within a layer")
    vocabulary: int = Field(
        30522, ge=2, description="different tokens, as many as the data may have"
    )
    positions: int = Field(512, ge=1, description="most tokens of a text")
    init_std: float = Field(
        0.02, gt=0, description="standard deviation of random weights; 0.02 is BERT's"
    )

    @model_validator(mode="after")
    def _divisible(self) -> "Config":
        if self.hidden % self.heads:
            raise ValueError(f"hidden is {self.hidden}, which {self.heads} heads do not divide")
        return self


class Classifier(nn.Module):
    """Attributes: `origin`, a phrase for results: where the weights come from."""

    def __init__(self, bert: Any, origin: str, first: int | None, awaited: bool = False) -> None:
        """`first`: token of all texts of its vocabulary; `awaited`: it stands in for the published BERT, not here."""
        super().__init__()
        self.bert: Any = bert  # transformers' BertForSequenceClassification
        self.origin = origin
        self.first = first
        self.awaited = awaited

    def forward(self, tokens: Tensor) -> Tensor:
        like = self.bert.classifier.weight
        if not len(tokens):  # transformers fails on a part without samples
            return like.new_empty(0, len(like))
        # Added to the attention, [n, 1, 1, T]. Of a mask [n, T], transformers would make the same, but slowly and only
        # where there is padding, and a captured step must not look at its batch.
        mask = torch.zeros_like(tokens, dtype=like.dtype).masked_fill(
            tokens == 0, torch.finfo(like.dtype).min
        )
        return self.bert(input_ids=tokens, attention_mask=mask[:, None, None, :]).logits

    def check(self, tokens: Tensor) -> None:
        """Raises ValueError if the model does not know the tokens [N, T], or if they are of another vocabulary."""
        size = self.bert.config.vocab_size
        if tokens.numel() and int(tokens.max()) >= size:
            raise ValueError(
                f"the model knows {size} tokens (model.vocabulary), the data have the token {int(tokens.max())}"
            )
        if self.awaited and len(tokens) and bool((tokens[:, 0] == pretrained.FIRST).all()):
            raise ValueError(
                f"the data were prepared with the vocabulary of {pretrained.BERT}, which is no longer here "
                "(model.pretrained: auto); fetch it again, or set pretrained: null"
            )
        if self.first is not None and bool((tokens[:, 0] != self.first).any()):
            raise ValueError(
                f"the model is {self.origin}, whose texts begin with token {self.first}, the data have another "
                "vocabulary: prepare them with its own (tokenizer: wordpiece), or set pretrained: null"
            )


def build(config: Config, shape: tuple[int, ...], outputs: int) -> nn.Module:
    """Raises ValueError if a sample is not a text, FairflError if a model that is asked for is not there."""
    if len(shape) != 1:
        raise ValueError(f"bert needs tokens [length], the data have shape {list(shape)}")
    folder = None if config.pretrained is None else _folder(config.pretrained)
    settings = {
        "num_labels": outputs,
        "hidden_dropout_prob": config.dropout,
        "attention_probs_dropout_prob": config.dropout,
        # The fused kernels of attention add up their gradients on a GPU in any order.
        "attn_implementation": "eager",
    }
    bert = _random(config, settings) if folder is None else _loaded(folder, settings)
    positions = bert.config.max_position_embeddings
    if shape[0] > positions:
        raise ValueError(
            f"bert reads {positions} tokens at most (model.positions), the texts have {shape[0]}"
        )
    if folder is not None:
        name = pretrained.BERT if config.pretrained == "auto" else config.pretrained
        return Classifier(bert, f"{name}, pre-trained", _first_token(folder))
    missing = (
        f", because this machine has no {pretrained.BERT}" if config.pretrained == "auto" else ""
    )
    return Classifier(
        bert,
        f"BERT of {config.layers} layers of {config.hidden}, from random weights{missing}",
        None,
        bool(missing),
    )


def _folder(name: str) -> Path | None:
    """Folder of the pre-trained model; None if `auto` finds none."""
    folder = pretrained.find(pretrained.BERT if name == "auto" else name)
    if folder is None and name != "auto":
        raise FairflError(
            f"model.pretrained: {name!r} is neither a folder with {', '.join(pretrained.FILES)} nor a model that the "
            f"data folder or the cache of the Hugging Face hub has; download it (hf download {name}), or use null"
        )
    return folder


def _random(config: Config, settings: dict[str, Any]) -> Any:
    bert = _transformers()
    sizes = bert.BertConfig(
        vocab_size=config.vocabulary,
        hidden_size=config.hidden,
        num_hidden_layers=config.layers,
        num_attention_heads=config.heads,
        intermediate_size=config.intermediate,
        max_position_embeddings=config.positions,
        initializer_range=config.init_std,
        **settings,
    )
    return bert.BertForSequenceClassification(sizes)


def _loaded(folder: Path, settings: dict[str, Any]) -> Any:
    """The encoder as it was trained, under a head of random weights, whatever head the file may hold."""
    bert = _transformers()
    try:
        sizes = bert.BertConfig.from_pretrained(folder, **settings)
        encoder, loading = bert.BertModel.from_pretrained(
            folder,
            config=sizes,
            local_files_only=True,
            output_loading_info=True,
            dtype=torch.float32,
        )
    except Exception as error:  # of the many kinds that reading its files may raise
        raise FairflError(f"{folder}: not a BERT that transformers can load ({error})") from error
    if loading["missing_keys"]:
        raise FairflError(
            f"{folder}: lacks weights of the encoder: {', '.join(sorted(loading['missing_keys'])[:3])}"
        )
    model = bert.BertForSequenceClassification(sizes)
    model.bert = encoder
    return model


def _first_token(folder: Path) -> int:
    """Number of [CLS] in its vocabulary."""
    pieces = (folder / pretrained.VOCABULARY).read_text("utf-8").splitlines()
    if "[CLS]" not in pieces:
        raise FairflError(
            f"{folder / pretrained.VOCABULARY}: no vocabulary of a BERT, it has no [CLS]"
        )
    return pieces.index("[CLS]")


def _transformers() -> Any:
    """The module of its BERT; imported here, because that takes two seconds."""
    try:
        from transformers import logging
        from transformers.models.bert import modeling_bert
    except ImportError as error:
        raise FairflError(
            f"model bert needs transformers: pip install 'fairfl[text]' ({error})"
        ) from error
    logging.set_verbosity_error()  # or it reports on heads that are not used
    logging.disable_progress_bar()
    return modeling_bert

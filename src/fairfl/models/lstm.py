"""Next-word model: embedding, LSTM, one or two dense layers; logits [n, T, V] for tokens [n, T].

VRed: "1 LSTM + 2 FC"; the default sizes are from Reddi et al. 2020 (Adaptive Federated Optimization, table 9),
with one input and one output per word of the vocabulary. 4,053,428 parameters for 10,004 words.

FedEBA+ on Reddit says nothing of its model. AAggFF's public code, one of its baselines, has StackedLSTM: embedding 200,
two layers of 256, one dense layer. 5,565,328 parameters for 10,000 words.
"""

from pydantic import Field
from torch import Tensor, nn

from fairfl.experiments.base import Strict


class Config(Strict):
    embedding: int = Field(96, ge=1, description="numbers per word")
    hidden: int = Field(670, ge=1, description="units of each LSTM layer")
    layers: int = Field(1, ge=1, description="LSTM layers, each on the states of the one before")
    projection: int | None = Field(
        96, ge=1, description="units of the first of two dense layers; null: only one"
    )


class NextWord(nn.Module):
    """Logits of the word after each position, from the words up to it."""

    def __init__(self, config: Config, vocabulary: int) -> None:
        super().__init__()
        # First, because cuDNN finds the weights of an LSTM in one piece only where a flat vector begins. (Those of
        # several layers it orders in its own way, and copies them in every step.)
        self.lstm = nn.LSTM(config.embedding, config.hidden, config.layers, batch_first=True)
        self.embedding = nn.Embedding(vocabulary, config.embedding)
        width = config.hidden if config.projection is None else config.projection
        self.projection = (
            nn.Identity() if config.projection is None else nn.Linear(config.hidden, width)
        )
        self.words = nn.Linear(width, vocabulary)

    def forward(self, tokens: Tensor) -> Tensor:
        states, _ = self.lstm(self.embedding(tokens))
        return self.words(self.projection(states))


def build(config: Config, shape: tuple[int, ...], outputs: int) -> nn.Module:
    """`outputs` is the size of the vocabulary. Raises ValueError if a sample is not a sequence."""
    if len(shape) != 1:
        raise ValueError(f"lstm needs tokens [length], the data have shape {list(shape)}")
    return NextWord(config, outputs)

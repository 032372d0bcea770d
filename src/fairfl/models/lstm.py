"""Next-word model: embedding, one LSTM layer, two dense layers; logits [n, T, V] for tokens [n, T].

VRed: "1 LSTM + 2 FC"; the default sizes are those of Reddi et al. 2020 (Adaptive Federated Optimization, table 9),
with one input and one output per word of the vocabulary. 4,053,428 parameters for 10,004 words.
"""

from pydantic import Field
from torch import Tensor, nn

from fairfl.spec.base import Strict


class Config(Strict):
    embedding: int = Field(96, ge=1, description="numbers per word")
    hidden: int = Field(670, ge=1, description="units of the LSTM")
    projection: int = Field(96, ge=1, description="units of the first dense layer")


class NextWord(nn.Module):
    """Logits of the word after each position, from the words up to it."""

    def __init__(self, config: Config, vocabulary: int) -> None:
        super().__init__()
        # First, because cuDNN finds the weights of an LSTM in one piece only where a flat vector begins.
        self.lstm = nn.LSTM(config.embedding, config.hidden, batch_first=True)
        self.embedding = nn.Embedding(vocabulary, config.embedding)
        self.projection = nn.Linear(config.hidden, config.projection)
        self.words = nn.Linear(config.projection, vocabulary)

    def forward(self, tokens: Tensor) -> Tensor:
        states, _ = self.lstm(self.embedding(tokens))
        return self.words(self.projection(states))


def build(config: Config, shape: tuple[int, ...], outputs: int) -> nn.Module:
    """`outputs` is the size of the vocabulary. Raises ValueError if a sample is no sequence."""
    if len(shape) != 1:
        raise ValueError(f"lstm needs tokens [length], the data have shape {list(shape)}")
    return NextWord(config, outputs)

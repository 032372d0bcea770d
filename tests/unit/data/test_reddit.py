"""Reddit of LEAF on a small generated archive of the same form, and its users as clients."""

import json

from fairfl.data import reddit
from tests.unit.data import toys

LENGTH = 10


def leaf(comment, bare=False):
    """x and y of a comment as LEAF stores them: pieces of ten, and the words that follow each."""
    spoken = comment.split()
    rows = []
    for row in (["<BOS>", *spoken, "<EOS>"], [*spoken, "<EOS>", "<PAD>"]):
        row += ["<PAD>"] * (-len(row) % LENGTH)
        rows.append([row[at : at + LENGTH] for at in range(0, len(row), LENGTH)])
    about = {"subreddit": "x", "created_utc": 0, "score": 1, "target_tokens": rows[1], "count_tokens": []}
    return rows[0], rows[1] if bare else about


def part(comments):
    """A part of the data, {user: comments}; LEAF's own num_samples are not those of the part."""
    data = {}
    for user, texts in comments.items():
        pairs = [leaf(text, bare=number % 2 == 1) for number, text in enumerate(texts)]
        data[user] = {"x": [x for x, _ in pairs], "y": [y for _, y in pairs]}
    return {"users": list(comments), "num_samples": [99] * len(comments), "user_data": data}


def prepared(folder, comments, **options):
    """The data of an archive with these comments, {part: {user: texts}}."""
    members = [(f"new_small_data/{name}_data.json", json.dumps(part(own))) for name, own in comments.items()]
    toys.put(folder / "reddit" / "reddit_subsampled.zip", toys.zipped(members))
    return reddit.prepare(folder, reddit.Config(**options), 0)


# Training words by number: a 4, b 3, c 2, d 1; so a, b, c are tokens 4, 5, 6 of a vocabulary of three.
# No word that user 9 is trained to predict is known.
COMMENTS = {
    "train": {"7": ["a b a c", "d b a"], "9": ["e"], "3": ["b c a"]},
    "val": {"7": ["c c"], "3": ["a a"], "9": ["c"]},
    "test": {"3": ["a e b"], "7": ["b", "d d d"], "9": ["a a"]},
}


def test_by_hand(tmp_path):
    """Specials 0..3 are padding, begin, end, unknown."""
    data = prepared(tmp_path, COMMENTS, vocabulary=3)
    tensors = data.tensors
    assert tensors["inputs"].tolist() == [
        [1, 4, 5, 4, 6, 2, 0, 0, 0, 0],
        [1, 3, 5, 4, 2, 0, 0, 0, 0, 0],
        [1, 5, 2, 0, 0, 0, 0, 0, 0, 0],
        [1, 5, 6, 4, 2, 0, 0, 0, 0, 0],
        [1, 4, 3, 5, 2, 0, 0, 0, 0, 0],
    ]
    assert tensors["labels"].tolist() == [
        [4, 5, 4, 6, -1, -1, -1, -1, -1, -1],
        [-1, 5, 4, -1, -1, -1, -1, -1, -1, -1],
        [5, -1, -1, -1, -1, -1, -1, -1, -1, -1],
        [5, 6, 4, -1, -1, -1, -1, -1, -1, -1],
        [4, -1, 5, -1, -1, -1, -1, -1, -1, -1],
    ]
    # "d d d" asks for no word that is known.
    assert tensors["client"].tolist() == [0, 0, 0, 1, 1]
    assert tensors["official_test"].tolist() == [0, 0, 1, 0, 1]
    assert data.metadata["classes"] == "7"
    assert data.metadata["source"] == (
        "Reddit by user (LEAF, small sample), 2 of 3 users with a training piece, validation part left out; "
        "5 of 8 pieces, those that have a target"
    )


def test_unknown_words_and_the_end_may_be_targets(tmp_path):
    tensors = prepared(tmp_path, COMMENTS, vocabulary=3, targets="tokens").tensors
    assert tensors["labels"][1].tolist() == [3, 5, 4, 2, -1, -1, -1, -1, -1, -1]
    assert tensors["labels"][3].tolist() == [3, 3, 3, 2, -1, -1, -1, -1, -1, -1]
    assert tensors["client"].tolist() == [0, 0, 0, 0, 1, 1, 2, 2]


def test_the_validation_part_may_be_trained_on(tmp_path):
    tensors = prepared(tmp_path, COMMENTS, vocabulary=3, validation="train").tensors
    assert tensors["client"].tolist() == [0, 0, 0, 0, 1, 1, 2, 2, 2]
    assert tensors["official_test"].tolist() == [0, 0, 0, 1, 0, 1, 0, 0, 1]


def test_a_long_comment_is_cut_into_pieces(tmp_path):
    long = {"1": ["a b c d e f g h i j k a b"]}
    tensors = prepared(tmp_path, dict.fromkeys(("train", "val", "test"), long), vocabulary=11).tensors
    spoken = ["abcdefghijk".index(word) + 4 for word in long["1"][0].split()]
    assert tensors["inputs"].tolist() == [[1, *spoken[:9]], [*spoken[9:], 2, 0, 0, 0, 0, 0]] * 2
    assert tensors["labels"].tolist() == [spoken[:10], [*spoken[10:], *[-1] * 7]] * 2

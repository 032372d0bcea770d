"""Assignments to models beside the true clusters."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from fairfl.metrics.clusters import adjusted_rand, assigned

LABELS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=1, max_size=30)


def test_a_client_belongs_to_the_model_of_its_largest_share():
    assert assigned([[0.2, 0.5, 0.3], [1.0, 0.0, 0.0], [0.5, 0.5, 0.0]]).tolist() == [1, 0, 0]


@settings(max_examples=50, deadline=None)
@given(LABELS)
def test_index_agrees_with_scikit_learn(pairs):
    found, true = np.array(pairs).T
    assert adjusted_rand(found, true) == pytest.approx(adjusted_rand_score(true, found), abs=1e-12)
    assert adjusted_rand(found, true) == adjusted_rand((found + 1) % 4, true)


def test_a_client_that_diverged_is_in_no_cluster():
    own = assigned([[0.2, 0.8], [np.nan, np.nan]])
    assert own[0] == 1 and np.isnan(own[1]) and np.isnan(adjusted_rand(own, [0, 1]))

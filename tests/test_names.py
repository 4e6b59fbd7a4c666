"""Names of features, outputs and groups are read exactly, or refused by name."""

import re

import numpy as np
import pytest

import hoeffding
from hoeffding.names import as_feature_names, as_groups, as_output_names

NAMES = ("size", "red", "blue", "green")


def test_groups_are_given_by_names_or_indices():
    assert as_groups({"colour": ["blue", "red", 3]}, NAMES) == (("colour", (1, 2, 3)),)
    assert as_groups({"a": [0], "b": np.array([2, 1])}, NAMES) == (("a", (0,)), ("b", (1, 2)))
    assert as_groups(None, NAMES) == () == as_groups({}, NAMES)


def test_a_group_may_have_the_name_of_its_own_feature():
    assert as_groups({"red": ["red"]}, NAMES) == (("red", (1,)),)


@pytest.mark.parametrize(
    ("groups", "error", "message"),
    [
        ({"a": [0, 1], "b": [1]}, ValueError, "feature 'red' is in 'a' and in 'b'; groups may not overlap"),
        ({"a": [1, "red"]}, ValueError, "feature 'red' is in 'a' and in 'a'"),
        ({"a": ["pink"]}, KeyError, "feature 'pink' is unknown; the features are size, red, blue, green"),
        ({"a": "red"}, TypeError, "groups['a']='red': give a sequence of names or indices, such as ['red']"),
        ({"a": 1}, TypeError, "groups['a']=1: give a sequence"),
        ({"a": []}, ValueError, "groups['a']: is empty; leave it out"),
        ({"a": [4]}, IndexError, "feature 4 is out of range, there are 4 features (0 to 3)"),
        ({"a": [True]}, TypeError, "features are given by name or integer index, got True"),
        ({"a": [0.0]}, TypeError, "got 0.0"),
        ({1: [0]}, TypeError, "the name of a group is a string, got 1"),
        ([["red", "blue"]], TypeError, "expected {name: [features by name or index]}, got list"),
        ({"size": ["red"]}, ValueError, "a feature outside of it has the same name"),
    ],
)
def test_groups_that_cannot_be_meant_are_refused(groups, error, message):
    with pytest.raises(error, match=re.escape(message)):
        as_groups(groups, NAMES)


def test_of_many_features_an_error_names_a_few():
    with pytest.raises(KeyError) as error:
        as_groups({"a": ["pink"]}, [f"bit{i}" for i in range(500)])
    assert "bit0, bit1, bit2, bit3, bit4, bit5, bit6, bit7, bit8, bit9, ... (500 in all)" in str(error.value)
    assert "bit10" not in str(error.value)


def test_a_known_group_stands_for_its_members_unless_a_feature_has_its_name():
    known = (("colour", (1, 2)), ("size", (3,)))
    assert as_groups({"all": ["colour", "size"]}, NAMES, known) == (("all", (0, 1, 2)),)
    with pytest.raises(ValueError, match="feature 'red' is in 'all' and in 'all'"):
        as_groups({"all": ["colour", "red"]}, NAMES, known)


def test_outputs_have_one_name_each():
    assert as_output_names(["a", "b"], (2,)) == ("a", "b")
    assert as_output_names(["a"], ()) == ("a",)
    assert as_output_names(None, (3,)) is None
    with pytest.raises(ValueError, match="output_names: expected 2 different names, got 1 in 2"):
        as_output_names(["a", "a"], (2,))
    with pytest.raises(TypeError, match="output_names='ab': expected a sequence of strings"):
        as_output_names("ab", (2,))


def test_features_have_names_of_their_own_by_default():
    assert as_feature_names(None, 2) == ("x0", "x1")
    assert as_feature_names(np.array(["a", "b"]), 2) == ("a", "b")


def test_a_result_keeps_groups_and_names_of_outputs():
    values = np.random.default_rng(0).normal(size=(2, 2, 2, 2))
    result = hoeffding.transform(
        values, hoeffding.Uniform(3), groups={"pair": ["x0", "x2"]}, output_names=["mean", "spread"]
    )
    assert result.groups == (("pair", (0, 2)),)
    assert "2 outputs (mean, spread)" in repr(result)
    assert list(result.to_frame()["output"][:2]) == ["mean", "spread"]
    with pytest.raises(ValueError, match="output_names: expected 2 different names, got 3 in 3"):
        hoeffding.transform(values, hoeffding.Uniform(3), output_names=["a", "b", "c"])

"""What the letters in the Mushrooms data set stand for."""

from __future__ import annotations

_COLOURS = {
    "black": "k",
    "brown": "n",
    "buff": "b",
    "chocolate": "h",
    "cinnamon": "c",
    "gray": "g",
    "green": "r",
    "orange": "o",
    "pink": "p",
    "purple": "u",
    "red": "e",
    "white": "w",
    "yellow": "y",
}
_STALK_SURFACE = {"fibrous": "f", "scaly": "y", "silky": "k", "smooth": "s"}

_LETTERS = {
    "cap-shape": {"bell": "b", "conical": "c", "convex": "x", "flat": "f", "knobbed": "k", "sunken": "s"},
    "cap-surface": {"fibrous": "f", "grooves": "g", "scaly": "y", "smooth": "s"},
    "cap-color": _COLOURS,
    "bruises": {"yes": "t", "no": "f"},
    "odor": {
        "almond": "a",
        "anise": "l",
        "creosote": "c",
        "fishy": "y",
        "foul": "f",
        "musty": "m",
        "none": "n",
        "pungent": "p",
        "spicy": "s",
    },
    "gill-attachment": {"attached": "a", "descending": "d", "free": "f", "notched": "n"},
    "gill-spacing": {"close": "c", "crowded": "w", "distant": "d"},
    "gill-size": {"broad": "b", "narrow": "n"},
    "gill-color": _COLOURS,
    "stalk-shape": {"enlarging": "e", "tapering": "t"},
    "stalk-root": {
        "bulbous": "b",
        "club": "c",
        "cup": "u",
        "equal": "e",
        "rhizomorphs": "z",
        "rooted": "r",
        "missing": "?",
    },
    "stalk-surface-above-ring": _STALK_SURFACE,
    "stalk-surface-below-ring": _STALK_SURFACE,
    "stalk-color-above-ring": _COLOURS,
    "stalk-color-below-ring": _COLOURS,
    "veil-type": {"partial": "p", "universal": "u"},
    "veil-color": _COLOURS,
    "ring-number": {"none": "n", "one": "o", "two": "t"},
    "ring-type": {
        "cobwebby": "c",
        "evanescent": "e",
        "flaring": "f",
        "large": "l",
        "none": "n",
        "pendant": "p",
        "sheathing": "s",
        "zone": "z",
    },
    "spore-print-color": _COLOURS,
    "population": {
        "abundant": "a",
        "clustered": "c",
        "numerous": "n",
        "scattered": "s",
        "several": "v",
        "solitary": "y",
    },
    "habitat": {
        "grasses": "g",
        "leaves": "l",
        "meadows": "m",
        "paths": "p",
        "urban": "u",
        "waste": "w",
        "woods": "d",
    },
}

WORDS = {(column, letter): word for column, words in _LETTERS.items() for word, letter in words.items()}

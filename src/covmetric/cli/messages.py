"""Messages of the library in the words of the command.

The library speaks of parameters in Python (``reg``, ``cv``), but users of the command see only its options.
"""

from __future__ import annotations

import re

_GROUP_OF_ONE = r"; leave the group out, join it with another one, or use new_groups='running' for new groups"
# What the library says, as a regular expression, and what the command says instead.
_PHRASES: tuple[tuple[str, str], ...] = (
    (r"^images\[\d+\]: (?=cannot read )", ""),  # the path follows
    (r", or a list of splits as cv\b", ""),
    (
        r"\bput the images of each class into a folder of its own$",
        "put the images of each class into a folder of its own, or pass a CSV file with their labels (--labels)",
    ),
    (r"\bcv has no splits: at least one split is needed", "there are no folds"),
    (
        r"; leave groups out, so that the folds are made of examples\b",
        "; remove the groups (the array groups of the .npz file, or the column group of the CSV file)",
    ),
    (
        r"^y has only one class, (.*): at least two classes are needed$",
        r"all examples have the class \1: at least two are needed (of a folder of images, each folder is a class)",
    ),
    (r"\bcv='classes' needs", "--unseen needs"),
    (r"\bset reg=0\b", "leave out --reg"),
    (r"\bset reg, for example (\S+?)(?=[,;]|$)", r"use --reg, for example --reg \1"),
    (r"\braise reg \(now ([^)]+)\)", r"raise --reg (now \1)"),
    (r"\breg must be a number", "--reg must be a number"),
    (r", or shrink the estimate\b", ""),
    (r", shrink the estimate, or use metric='euclid'", ""),
    (r"; use phi='auto'", "; leave out --phi"),
    (r"\bphi must be one of\b", "--phi must be one of"),
    (r", or an object of the class Embedding\b", ""),
    (r"\bset lam=inf\b", "use --lam inf"),
    (r"\bset features='grey'", "use --features grey"),
    (
        r"\bto choose a metric for new classes, pass scoring='mean_average_precision'",
        "covmetric compare --unseen compares metrics on new classes",
    ),
    (r"\btest_size=(\S+) holds out\b", r"--test-classes \1 holds out"),
    (r"\bn_splits=(\d+)", r"--folds \1"),
    (r"\braise max_iter or tol, or lower the weights \(raise lambda\)", "choose a larger --lam"),
    (
        r"\bpass groups \(in a pipeline, with set_transform_request\(groups=True\) and enable_metadata_routing\); .*",
        "put an array groups into the file, with one group for each example",
    ),
    (
        r"\. Pass groups \(in a pipeline, .*?params=\{'groups': groups\}\)",
        ": fit the model with groups, for example covmetric fit --recentre",
    ),
    (
        r"\bpass X\.transpose\(0, 2, 1\), or \[one\.T for one in X\] for a list",
        "save X.transpose(0, 2, 1) in the file",
    ),
    (r"; to treat the batch as a new group, call partial_fit .*", "; learn a model with this group"),
)
#: What the library says about grey images where features need colours.
_GREY_FEATURES = r"\buse features='grey', remove R, G and B from the features(?=, or leave the image out)"
#: The same in the commands that choose the features. In the others, the model has chosen them.
_CHOOSES_FEATURES = {"fit": "use --features grey", "compare": "use --features grey"}
#: What to do about a group of one example, which `fit` takes from the file and other commands from the files.
_JOIN_IN_FIT = "; leave it out, or give it the group of other examples of its session"
_JOIN = "; leave it out, or put it into one file with other examples of its session"
#: The options for numbers of neighbours, by command.
_NEIGHBORS = {"search": "-k", "fit": "--neighbors"}


def in_words_of_the_command(message: str, command: str) -> str:
    """Return a message of the library with options of the command in place of parameters.

    Parameters
    ----------
    message : str
        The message.
    command : str
        The subcommand.

    Returns
    -------
    str
        The message in one line.

    Examples
    --------
    >>> in_words_of_the_command("X[0] is singular; set reg, for example 1e-06", "fit")
    'X[0] is singular; use --reg, for example --reg 1e-06'
    """
    text = " ".join(message.split())
    for pattern, words in _PHRASES:
        text = re.sub(pattern, words, text)
    remedy = _CHOOSES_FEATURES.get(command, "use a model that was fitted with --features grey")
    text = re.sub(_GREY_FEATURES, remedy, text)
    text = re.sub(_GROUP_OF_ONE, _JOIN_IN_FIT if command == "fit" else _JOIN, text)
    return re.sub(r"\bn_neighbors\b", _NEIGHBORS[command], text) if command in _NEIGHBORS else text

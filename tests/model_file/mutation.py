"""Functions that mutate the bytes of a valid model file at random."""

from __future__ import annotations

import copy
import io
import json

import numpy as np

from tests.model_file.forging import pack, unpack, with_array


def mutated_bytes(content, rng):
    data = bytearray(content)
    for _ in range(rng.integers(1, 6)):
        if not data:  # an earlier change has deleted everything
            break
        at, kind = int(rng.integers(len(data))), rng.integers(5)
        span = int(rng.integers(1, 40))
        if kind == 0:
            data[at] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            data[at : at + span] = rng.bytes(span)
        elif kind == 2:
            del data[at : at + span]
        elif kind == 3:
            other = int(rng.integers(len(data)))
            data[at:at] = data[other : other + span]
        else:
            del data[at:]
            data += b"\0"
    return bytes(data)


JUNK = [
    *(None, True, -1, 0, 3, 2**70, 1e308, -0.5, "", "is", "log", [], [1, 2], {}),
    *({"$array": "_codes"}, {"$float": "nan"}, {"$tuple": [2, 2]}, {"$objects": ["a"]}, {"$status": "SOLVED"}),
    {"$class": "Newton", "state": {"memory": 1}},
]


def mutated_tree(content, rng):
    """Return a valid file with some entries of its manifest replaced by other plausible entries."""
    members = unpack(content)
    manifest = json.loads(members["manifest.json"])
    for _ in range(rng.integers(1, 3)):
        node, parent, key = manifest, None, None
        while isinstance(node, dict | list) and len(node) and (parent is None or rng.random() < 0.9):
            keys = list(node) if isinstance(node, dict) else range(len(node))
            parent, key = node, keys[rng.integers(len(keys))]
            node = node[key]
        if parent is not None:
            kind = rng.integers(3)
            if kind == 0 and isinstance(parent, dict):
                del parent[key]
            else:
                parent[key] = copy.deepcopy(JUNK[rng.integers(len(JUNK))])
    members["manifest.json"] = json.dumps(manifest).encode()
    return pack(members)


def mutated_array(content, rng):
    members = unpack(content)
    names = [name for name in members if name.endswith(".npy")]
    name = names[rng.integers(len(names))]
    array = np.lib.format.read_array(io.BytesIO(members[name]))
    kind = rng.integers(5)
    if kind == 0:
        array = array[: len(array) // 2]
    elif kind == 1:
        array = array.reshape(-1)
    elif kind == 2 and array.dtype.kind == "f" and array.size:
        array = array.copy()
        array.flat[rng.integers(array.size)] = [np.nan, np.inf, -1e300, 1e300, 0.0, -1.0][rng.integers(6)]
    elif kind == 3 and array.dtype.kind in "fi":
        array = array.astype([np.float64, np.int64, np.float32, np.uint8][rng.integers(4)])
    else:
        array = np.zeros(tuple(rng.integers(0, 4, rng.integers(0, 4))))
    return with_array(content, name[:-4], np.ascontiguousarray(array))


#: The mutations by name.
MUTATIONS = {"bytes": mutated_bytes, "tree": mutated_tree, "array": mutated_array}

# SPDX-License-Identifier: Apache-2.0
"""Holds what ripd answers against ripd/schema/ripd.json. Where python3-jsonschema is not installed, nothing is held."""
import functools
import json
import os

try:
    import jsonschema
except ImportError:
    jsonschema = None

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "ripd", "schema", "ripd.json")
DIGITS = str.maketrans("123456789", "000000000")
held = set()  # names and shapes: who waits for an answer asks the same again and again
LONG = 32  # of a longer list so many items are held: to check 10,000 takes a minute


class Mismatch(AssertionError):
    """Not even a test that waits for another answer may pass over it."""


@functools.lru_cache(maxsize=None)
def schema():
    with open(PATH, encoding="utf-8") as file:
        return json.load(file)


@functools.lru_cache(maxsize=None)
def validator(name):
    return jsonschema.Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": schema()["$defs"]})


def shortened(document):
    """Long lists of a document by items from all over them."""
    def some(value):
        if not isinstance(value, list) or len(value) <= LONG:
            return value
        return [value[i * (len(value) - 1) // (LONG - 1)] for i in range(LONG)]

    return {key: some(value) for key, value in document.items()}


def shape(value):
    """What is held of a value: all but which digits, which number of that many bits, and how often in a list."""
    if isinstance(value, dict):
        return tuple((key, shape(part)) for key, part in value.items())
    if isinstance(value, list):
        return list, tuple(dict.fromkeys(shape(part) for part in value))
    if isinstance(value, str):
        return value.translate(DIGITS)
    if value is None or isinstance(value, bool):
        return bool, value
    return type(value), value < 0, int(value).bit_length()


def hold(document, name=None, where=""):
    """name: of its definition; without one it is a document that names its schema, or a problem."""
    if jsonschema is None:
        return
    if name is None:
        name = document["schema"].split("/")[1] if "schema" in document else "problem"
    document = shortened(document)
    seen = name, shape(document)
    if seen in held:
        return
    error = jsonschema.exceptions.best_match(validator(name).iter_errors(document))
    if error is not None:
        raise Mismatch(f"{where}: not as ripd.json has {name}: {error.json_path}: {error.message:.2000}")
    held.add(seen)

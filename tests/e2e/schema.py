# SPDX-License-Identifier: Apache-2.0
"""Checks answers of ripd against ripd/schema/ripd.json. Without python3-jsonschema it checks nothing."""
import functools
import json
import os

try:
    import jsonschema
except ImportError:
    jsonschema = None

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "ripd", "schema", "ripd.json")
DIGITS = str.maketrans("123456789", "000000000")
checked = set()  # (name, shape) of documents already checked: a test that waits repeats the same request
LONG = 32  # longer lists are sampled: checking 10,000 items takes a minute


class Mismatch(AssertionError):
    """An answer violates the schema. wait_for() does not catch this exception."""


@functools.lru_cache(maxsize=None)
def schema():
    with open(PATH, encoding="utf-8") as file:
        return json.load(file)


@functools.lru_cache(maxsize=None)
def validator(name):
    return jsonschema.Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": schema()["$defs"]})


def shortened(document):
    """Returns the document with long lists replaced by samples from the whole list."""
    def some(value):
        if not isinstance(value, list) or len(value) <= LONG:
            return value
        return [value[i * (len(value) - 1) // (LONG - 1)] for i in range(LONG)]

    return {key: some(value) for key, value in document.items()}


def shape(value):
    """Returns the properties of a value that the schema can check. Values with equal shapes differ only in digits, in
    numbers of equal bit length, or in repetitions within a list."""
    if isinstance(value, dict):
        return tuple((key, shape(part)) for key, part in value.items())
    if isinstance(value, list):
        return list, tuple(dict.fromkeys(shape(part) for part in value))
    if isinstance(value, str):
        return value.translate(DIGITS)
    if value is None or isinstance(value, bool):
        return bool, value
    return type(value), value < 0, int(value).bit_length()


def check_document(document, name=None, where=""):
    """Raises Mismatch if the document violates the schema. Without a name, the document names its schema, or is a
    problem document."""
    if jsonschema is None:
        return
    if name is None:
        name = document["schema"].split("/")[1] if "schema" in document else "problem"
    document = shortened(document)
    seen = name, shape(document)
    if seen in checked:
        return
    error = jsonschema.exceptions.best_match(validator(name).iter_errors(document))
    if error is not None:
        raise Mismatch(f"{where}: violates {name} in ripd.json: {error.json_path}: {error.message:.2000}")
    checked.add(seen)

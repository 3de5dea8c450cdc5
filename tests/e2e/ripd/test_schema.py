# SPDX-License-Identifier: Apache-2.0
"""ripd.json describes every document exactly: each answer matches, and a document with other fields does not."""
import copy
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import schema  # noqa: E402
import world as w  # noqa: E402

PATHS = {"/stalls?trail=4": "stalls", "/threads?trail=32": "threads", "/threads/app/1": "thread",
         "/rings": "rings", "/locations": "locations", "/stalls?group=location": "stalls-by-location",
         "/threads?group=location": "threads-by-location", "/stalls?group=root": "stalls-by-root",
         "/stalls?group=incident": "stalls-by-incident",
         "/states": "states", "/events": "events", "/version": "version", "/healthz": "health", "/readyz": "health"}


def objects(value):
    """Yields all objects in a document."""
    if isinstance(value, dict):
        yield value
        value = list(value.values())
    for inner in value if isinstance(value, list) else ():
        yield from objects(inner)


def refuses(document):
    try:
        schema.check_document(document)
    except schema.Mismatch:
        return True
    return False


def is_a_schema(_):
    validator = schema.jsonschema.Draft202012Validator
    validator.check_schema(schema.schema())
    for name, definition in schema.schema()["$defs"].items():
        if definition.get("type") == "object":
            assert definition["additionalProperties"] is False, name
            assert set(definition["required"]) <= set(definition["properties"]), name


def describes_every_answer(world):
    """An answer with one more or one less field, at any place, does not match."""
    app = world.puppet()
    app.do("spawn 1 one never")
    app.do("spawn 2 two idle")
    app.do("coroutine 3 three")
    world.wait_for(lambda: world.stalled_ids() == [1, 3] and all(stall["cause"] for stall in world.stalls()))
    world.wait_for(lambda: len(world.get("/events")["events"]) == 2)
    assert {f"ripd/{name}/1" for name in [*PATHS.values(), "capture"]} == {  # a capture is not an answer, but a file
        definition["properties"]["schema"]["const"] for definition in schema.schema()["$defs"].values()
        if "schema" in definition.get("properties", {})}
    for path, name in PATHS.items():
        document = world.get(path)
        assert document["schema"] == f"ripd/{name}/1", path
        for i, at in enumerate(objects(document)):
            changed = copy.deepcopy(document)
            list(objects(changed))[i]["colour"] = "red"
            assert refuses(changed), (path, at)
        for i, at in enumerate(objects(document)):
            for key in set(at) - {"next", "others", "inlined", "inlined_into"}:
                changed = copy.deepcopy(document)
                del list(objects(changed))[i][key]
                assert refuses(changed) or key.endswith("_hex"), (path, at, key)


def describes_problems(world):
    for path, status in (("/nowhere", 404), ("/stalls?limit=0", 400), ("/threads/app/7", 404)):
        assert world.request(path)[0] == status, path


if __name__ == "__main__":
    if schema.jsonschema is None:
        w.skip_script("python3-jsonschema is not installed")
    w.run([is_a_schema, describes_every_answer, describes_problems])

#!/usr/bin/env python3
"""Validates what ddprun writes by --events and --report against their JSON schemas.

Usage: check_records.py FOLDER FILE...

FOLDER has the schemas. A FILE that ends in .jsonl has events, and one that ends in .5 is a man page
with examples of both: the first event is complete, and lends the others what they have in common.
Another FILE is a report.
"""
import json
import re
import sys

try:
    import jsonschema
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)


def validator(folder, name):
    with open(f"{folder}/ddprun-{name}.schema.json", encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def check(validator, value):
    """Also that the schema refuses the value with a member too many or too few."""
    validator.validate(value)
    for spoilt in [{**value, "more": 1}] + [
        {name: each for name, each in value.items() if name != left_out} for left_out in value
    ]:
        if validator.is_valid(spoilt):
            sys.exit(f"the schema accepts {spoilt}")


def examples_in(page):
    displays = re.findall(r"^\.Bd -literal.*?\n(.*?)\n\.Ed$", page, re.MULTILINE | re.DOTALL)
    return [json.loads(display) for display in displays]


def main(folder, *paths):
    events, report = validator(folder, "events"), validator(folder, "report")
    for path in paths:
        with open(path, encoding="utf-8") as file:
            if path.endswith(".jsonl"):
                for line in file:
                    check(events, json.loads(line))
            elif path.endswith(".5"):
                first, *others, last = examples_in(file.read())
                common = {name: first[name] for name in events.schema["required"]}
                for event in [first] + others:
                    check(events, {**common, **event})
                check(report, last)
            else:
                check(report, json.load(file))


main(*sys.argv[1:])

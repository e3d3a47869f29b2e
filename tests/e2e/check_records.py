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


def closed(schema):
    """A copy in which no object may have members that the schema does not name."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    copy = {name: closed(each) for name, each in schema.items()}
    if copy.get("type") == "object" and "additionalProperties" not in copy:
        copy["unevaluatedProperties"] = False
    return copy


class Schema:
    def __init__(self, folder, name):
        with open(f"{folder}/ddprun-{name}.schema.json", encoding="utf-8") as file:
            schema = json.load(file)
        jsonschema.Draft202012Validator.check_schema(schema)
        self.required = schema["required"]
        self.open = jsonschema.Draft202012Validator(schema)
        self.closed = jsonschema.Draft202012Validator(closed(schema))

    def check(self, value):
        """All members are in the schema, none is missing, and later versions may add others."""
        self.closed.validate(value)
        more = {**value, "more": 1}
        self.open.validate(more)
        if self.closed.is_valid(more):
            sys.exit("the closed schema accepts a member too many")
        for left_out in value:
            less = {name: each for name, each in value.items() if name != left_out}
            if self.open.is_valid(less):
                sys.exit(f"the schema accepts {less}")


def examples_in(page):
    displays = re.findall(r"^\.Bd -literal.*?\n(.*?)\n\.Ed$", page, re.MULTILINE | re.DOTALL)
    return [json.loads(display) for display in displays]


def main(folder, *paths):
    events, report = Schema(folder, "events"), Schema(folder, "report")
    for path in paths:
        with open(path, encoding="utf-8") as file:
            if path.endswith(".jsonl"):
                for line in file:
                    events.check(json.loads(line))
            elif path.endswith(".5"):
                first, *others, last = examples_in(file.read())
                common = {name: first[name] for name in events.required}
                for event in [first] + others:
                    events.check({**common, **event})
                report.check(last)
            else:
                report.check(json.load(file))


main(*sys.argv[1:])

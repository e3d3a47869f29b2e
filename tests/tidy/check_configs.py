#!/usr/bin/env python3
"""Validates job files against the JSON schema of job files.

Usage: check_configs.py SCHEMA JOB.yaml...
"""
import json
import sys

try:
    import jsonschema
    import yaml
except ImportError as missing:
    print(f"SKIPPED: {missing}")
    sys.exit(77)  # CMakeLists.txt tells ctest that this is a skipped test


def main(schema_path, *job_paths):
    with open(schema_path) as file:
        schema = json.load(file)
    jsonschema.Draft7Validator.check_schema(schema)
    validator = jsonschema.Draft7Validator(schema)
    for path in job_paths:
        with open(path) as file:
            job = yaml.safe_load(file)
        validator.validate(job)
        for spoilt in ({**job, "nproc_per_nod": 2},
                       {**job, "args": "--epochs 10"},
                       {**job, "profiles": {"a": {"profiles": {}}}}):
            if validator.is_valid(spoilt):
                sys.exit(f"{path}: the schema accepts {spoilt}")
        if not validator.is_valid({**job, "nproc-per-node": 2, "profiles": {"a": {"grace": "1s"}}}):
            sys.exit(f"{path}: the schema refuses a profile or a key with dashes")


main(*sys.argv[1:])

"""Reads ctest's JUnit file and prints one line a test: status, name, reason, between tabs.

What failed tests printed goes to stderr. A test counts as skipped when ctest says so, or when it
passed and said "skipped: reason" (or "skipped, reason") in its output.
"""

import re
import sys
import xml.etree.ElementTree as ElementTree

SKIPPED = re.compile(r"\bskipped[:,] *(.+)", re.IGNORECASE)
# With the lines below it, which say what was compared or is left.
DOCTEST_ERROR = re.compile(r"^.*\bERROR: .+(\n.+){0,4}", re.MULTILINE)


def verdict(case):
    """The status of one <testcase> and why."""
    output = case.findtext("system-out") or ""
    said = SKIPPED.search(output)
    if case.find("failure") is not None:
        error = DOCTEST_ERROR.search(output)
        reason = error.group()[:500] if error else case.find("failure").get("message")
        return "failed", reason or "see its output"
    if case.get("status") == "run" and said is None:
        return "passed", ""
    if case.get("status") == "run" or case.find("skipped") is not None:
        return "skipped", said.group(1).strip() if said else "ctest skipped it"
    return "failed", "it did not run"


def main(path):
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        status, reason = verdict(case)
        print(status, case.get("name"), " ".join(reason.split()), sep="\t")
        if status == "failed":
            print("----", case.get("name"), file=sys.stderr)
            print(case.findtext("system-out"), file=sys.stderr)


main(sys.argv[1])

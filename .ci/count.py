"""Reads ctest's JUnit file and prints one line a test: status, name, reason, between tabs.

What failed tests printed goes to stderr. A test counts as skipped when ctest says so, or when it
passed and said "skipped: reason" (or "skipped, reason") in its output. One that runs several test
cases of doctest by --duration=true, which names each after what it printed, counts as those.
"""

import re
import sys
import xml.etree.ElementTree as ElementTree

SKIPPED = re.compile(r"\bskipped[:,] *(.+)", re.IGNORECASE)
# With the lines below it, which say what was compared or is left.
DOCTEST_ERROR = re.compile(r"^.*\bERROR: .+(\n.+){0,4}", re.MULTILINE)
DOCTEST_CASE = re.compile(r"^\d+\.\d+ s: (.+)\n", re.MULTILINE)


def test_cases(case):
    """Name, status and why of each test case in one <testcase>; of itself if it names none."""
    output = case.findtext("system-out") or ""
    begin = 0
    has_failed = False
    for named in DOCTEST_CASE.finditer(output):
        printed = output[begin : named.start()]
        begin = named.end()
        error = DOCTEST_ERROR.search(printed)
        said = SKIPPED.search(printed)
        has_failed |= error is not None
        if error:
            yield named.group(1), "failed", error.group()[:500]
        elif said:
            yield named.group(1), "skipped", said.group(1).strip()
        else:
            yield named.group(1), "passed", ""
    if begin == 0 or (case.find("failure") is not None and not has_failed):
        yield case.get("name"), *verdict(case, output[begin:])


def verdict(case, output):
    """The status of one <testcase> that printed `output`, and why."""
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
        for name, status, reason in test_cases(case):
            print(status, name, " ".join(reason.split()), sep="\t")
        if case.find("failure") is not None:
            print("----", case.get("name"), file=sys.stderr)
            print(case.findtext("system-out"), file=sys.stderr)


main(sys.argv[1])

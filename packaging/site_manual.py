#!/usr/bin/env python3
"""Mends the links in the pages that mandoc has made, in place. Usage: site_manual.py PAGE...

References to manuals of others lose their empty href. Of subsections with one name, mandoc leads
the table of contents to the first, and omits the anchors of names with blanks: each gets its own.
"""

import pathlib
import re
import sys


def without_empty_links(body: str) -> str:
    """What refers to a page that is not in the site becomes plain text."""
    return re.sub(r'<a class="Xr"\s+href="">([^<]*)</a>', r'<span class="Xr">\1</span>', body)


def anchor_of(heading: re.Match[str], name: str, used: set[str]) -> str:
    """The heading's own one, or else the first free one of this name."""
    if heading["anchor"]:
        return heading["anchor"]
    number = 1
    anchor = name
    while anchor in used:
        number += 1
        anchor = f"{name}~{number}"
    used.add(anchor)
    return anchor


def with_own_anchors(body: str) -> str:
    """The table lists all headings behind it, in their order."""
    before, table, after = re.split(
        r'(?s)(<h1 class="Sh">TABLE OF CONTENTS</h1>.*?)(?=<section)', body, maxsplit=1)
    names = iter(re.findall(r'<a\s+href="#([^"]*)"', table))
    used = set(re.findall(r'\bid="([^"]*)"', body))
    anchors = []

    def mend(heading: re.Match[str]) -> str:
        anchors.append(anchor_of(heading, next(names), used))
        return f'<{heading["tag"]} id="{anchors[-1]}">'

    after = re.sub(r'<(?P<tag>h[12]\s+class="S[hs]")(\s+id="(?P<anchor>[^"]*)")?>', mend, after)
    left = iter(anchors)
    table = re.sub(r'(<a\s+href="#)[^"]*', lambda link: link[1] + next(left), table)
    return before + table + after


if __name__ == "__main__":
    for path in map(pathlib.Path, sys.argv[1:]):
        page = without_empty_links(path.read_text())
        if ">TABLE OF CONTENTS<" in page:
            page = with_own_anchors(page)
        path.write_text(page)

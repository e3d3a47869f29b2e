#!/usr/bin/env python3
"""Checks the links of the site that site.sh makes. Prints each mistake, and exits with 1 if any.

Usage: site_links.py SITE SOURCE
SITE is the folder with index.html, SOURCE the source tree.
"""

import html.parser
import pathlib
import re
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    """What a page links to, the anchors in it, and what it would run or load."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: list[str] = []
        self.contents: list[str] = []  # the links of the table of contents
        self.anchors: set[str] = set()
        self.loads: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in attrs}
        if "id" in attributes:
            self.anchors.add(attributes["id"])
        if tag == "a" and "href" in attributes:
            self.links.append(attributes["href"])
            if attributes["href"].startswith("#") and "class" not in attributes:
                self.contents.append(attributes["href"])
        elif tag == "link":
            self.loads.append(attributes.get("href", ""))
        elif tag in ("script", "style", "iframe", "object", "base"):
            self.loads.append(f"<{tag}>")
        self.loads += [value for name, value in attributes.items()
                       if name in ("src", "srcset") or name.startswith("on")]


def link_mistake(link: str, name: str, pages: dict[str, Page], sources: str) -> str | None:
    """What is wrong with a link on the page of that name."""
    url = urllib.parse.urlsplit(link)
    if url.scheme in ("http", "https"):
        return None if link in sources else "no source has this address"
    if url.scheme or url.netloc or url.query or url.path.startswith("/") or not link:
        return "it leads out of the site"
    target = pages.get(urllib.parse.unquote(url.path) or name)
    if target is None:
        return "there is no such page"
    if url.fragment and urllib.parse.unquote(url.fragment) not in target.anchors:
        return "the page has no such anchor"
    return None


def mistakes(site: pathlib.Path, source: pathlib.Path) -> list[str]:
    """Of all pages and the stylesheet."""
    pages = {path.name: Page(path.read_text()) for path in sorted(site.glob("*.html"))}
    manual = sorted(source.glob("man/*.[1-9]"))
    texts = [source / f"{name}.md" for name in ("README", "CHANGELOG", "SECURITY", "CONTRIBUTING")]
    sources = "".join(path.read_text() for path in manual + texts)
    wanted = {f"{path.name}.html" for path in manual} | {f"{path.stem}.html" for path in texts}
    found = [f"{name}: there is no such page" for name in sorted(wanted - pages.keys())]
    found += [f"{name}: nothing in the source gives this page"
              for name in sorted(pages.keys() - wanted - {"index.html"})]
    for name, page in pages.items():
        found += [f"{name}: two entries of the contents lead to '{link}'"
                  for link in sorted(set(page.contents)) if page.contents.count(link) > 1]
        found += [f"{name}: link '{link}': {mistake}" for link in page.links
                  if (mistake := link_mistake(link, name, pages, sources))]
        found += [f"{name}: it runs or loads {load}" for load in page.loads if load != "style.css"]
        found += [f"{name}: it has no link to {other}"
                  for other in sorted((wanted | {"index.html"}) - set(page.links))]
    if re.search(r"url\(|@import", (site / "style.css").read_text()):
        found.append("style.css: it loads something")
    return found


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    lines = mistakes(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
    print(*lines, sep="\n", end="\n" if lines else "")
    sys.exit(1 if lines else 0)

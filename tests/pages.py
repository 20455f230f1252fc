"""What tests look at in a page of HTML."""

from __future__ import annotations

from html.parser import HTMLParser


class Shape(HTMLParser):
    """The elements of a page, apart from the code that backticks make, and its text. What opens has
    to be closed."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.opened: list[str] = []
        self.elements: list[tuple[str, ...]] = []
        self.text = ""
        self.feed(html)
        self.close()
        assert self.opened == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag != "meta":
            self.opened.append(tag)
        if tag != "code":
            self.elements.append((tag, *(name for name, _ in attrs)))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, *(name for name, _ in attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.opened.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

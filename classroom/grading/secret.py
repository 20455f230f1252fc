"""The instructor's key file: it signs records and makes the secret seed of the hidden cases."""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
from pathlib import Path

from labkit.types import LabError

_BYTES = 32


class Secret:
    """What one instructor alone knows. What is signed or seeded under others tells nothing."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def seed(self, label: str) -> str:
        """The seed of the hidden cases for a label, such as a term. Whoever has labkit and the
        label, but not the key, cannot make them."""
        return self._mac(b"hidden cases", label.encode())

    def sign(self, content: bytes) -> str:
        """A signature in hexadecimal (HMAC-SHA256, RFC 2104)."""
        return self._mac(b"record", content)

    def signed(self, content: bytes, signature: str) -> bool:
        return hmac.compare_digest(self.sign(content).encode(), signature.encode())

    def _mac(self, purpose: bytes, content: bytes) -> str:
        return hmac.new(self._secret, purpose + b"\0" + content, hashlib.sha256).hexdigest()


def default_secret_path() -> Path:
    """`LABKIT_GRADING_KEY`, or a file among this person's own settings."""
    named = os.environ.get("LABKIT_GRADING_KEY")
    if named:
        return Path(named).expanduser()
    settings = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(settings, "labkit", "grading.key").expanduser()


def open_secret(path: Path, *, create: bool = False) -> Secret:
    """The secret in a key file; with `create`, a new one where there is none.

    The file is for its owner's eyes alone. LabError names a file that is missing or holds no key.
    """
    if create and not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            file.write(secrets.token_hex(_BYTES) + "\n")
    try:
        text = path.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise LabError(f"The key file {path.name} cannot be read: {error}.") from error
    if not re.fullmatch(rf"[0-9a-f]{{{2 * _BYTES}}}", text):
        raise LabError(
            f"{path.name} holds no key: {2 * _BYTES} hexadecimal digits are expected, as "
            "`labkit grade` writes them into a new key file."
        )
    return Secret(bytes.fromhex(text))

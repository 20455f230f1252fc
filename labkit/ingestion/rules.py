"""Where the rules of a folder stood; `labkit.documents` holds them now."""

from labkit.documents.rules import Rules, matches

__all__ = ["Rules", "matches"]

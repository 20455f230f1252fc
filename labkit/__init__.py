"""labkit: answers quoted exactly from documents, or a refusal with its reason.

Nothing heavy is imported here; `labkit.assembly.open_lab()` is the way in for a person.
"""

__version__ = "0.1.0"

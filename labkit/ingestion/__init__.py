"""Stage 11: from a folder of files to documents under governance, and to an index that follows."""

from labkit.ingestion.reading import Tree, read_tree
from labkit.ingestion.rules import Rules
from labkit.ingestion.secrets import Secret, find_secrets
from labkit.ingestion.walking import walk

__all__ = ["Rules", "Secret", "Tree", "find_secrets", "read_tree", "walk"]

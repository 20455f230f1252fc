"""Where the reader of folders stood; `labkit.documents` holds it now."""

from labkit.documents.reading import Folder as Tree
from labkit.documents.reading import read_folder as read_tree

__all__ = ["Tree", "read_tree"]

"""Stage 11: an index that follows a folder of documents."""

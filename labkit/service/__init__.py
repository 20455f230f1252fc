"""Stage 12: parts of the lab as HTTP services: the embedding model, and the diagnostics pages."""

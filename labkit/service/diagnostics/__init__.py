"""Stage 11: pages that show what an index holds and why a question was answered or refused.

Rendered here, read only, and no script: `app.diagnostics_app` makes them an ASGI application.
"""

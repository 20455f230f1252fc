"""The frame around every page the grader writes: one style, no script, nothing loaded from outside.

The body is HTML whose texts were escaped by whoever made it (`html.escape`); the title is plain
text. Colours meet WCAG AA in light and in dark, and what a colour says a word says too.
"""

from __future__ import annotations

from html import escape

_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)

_STYLE = """
:root {
  color-scheme: light dark;
  --ink: #1f2933; --muted: #52606d; --paper: #ffffff; --panel: #f3f5f8; --line: #c3ccd5;
  --link: #1d4f91; --good: #22692f; --attention: #9a3412; --bar: #486581;
}
@media (prefers-color-scheme: dark) {
  :root {
    --ink: #e6e9ee; --muted: #a9b4c0; --paper: #14181d; --panel: #1e242b; --line: #46515d;
    --link: #9cc4f5; --good: #86d193; --attention: #f5b183; --bar: #8fb3d1;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, Helvetica, Arial, sans-serif;
}
main { max-width: 52rem; margin: 0 auto; padding: 1.5rem 1rem 3rem; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .5rem; }
h2 { font-size: 1.25rem; line-height: 1.3; margin: 2.2rem 0 .5rem; }
h3 { font-size: 1.05rem; margin: 1.4rem 0 .4rem; }
p, ul, ol, dl { margin: .5rem 0; }
ul, ol { padding-left: 1.4rem; }
a { color: var(--link); }
a:focus-visible, summary:focus-visible, [tabindex]:focus-visible {
  outline: 3px solid var(--link); outline-offset: 2px;
}
code, pre { font: .92em/1.45 ui-monospace, SFMono-Regular, Consolas, "Liberation Mono", monospace; }
code { background: var(--panel); border-radius: 3px; padding: .08em .3em; white-space: pre-wrap; }
pre {
  background: var(--panel); border-radius: 4px; padding: .6rem .8rem; margin: .4rem 0;
  white-space: pre-wrap;
}
pre code { padding: 0; background: none; }
.muted { color: var(--muted); }
.good { color: var(--good); }
.attention { color: var(--attention); }
.panel {
  border-left: 4px solid var(--line); background: var(--panel); border-radius: 0 4px 4px 0;
  padding: .6rem .9rem; margin: .7rem 0;
}
.panel.good, .panel.attention { color: var(--ink); border-left-color: var(--good); }
.panel.attention { border-left-color: var(--attention); }
.panel > :first-child { margin-top: 0; }
.panel > :last-child { margin-bottom: 0; }
.panel code, .panel pre { background: var(--paper); }
.scroll { overflow-x: auto; margin: .7rem 0; }
table { border-collapse: collapse; width: 100%; font-size: .95rem; overflow-wrap: normal; }
caption { text-align: left; font-weight: 600; padding: 0 0 .35rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem .7rem .35rem 0; }
thead th { border-bottom: 2px solid var(--line); font-weight: 600; }
tbody th { font-weight: 600; }
tbody td, tbody th { border-bottom: 1px solid var(--line); }
tbody td { overflow-wrap: anywhere; }
td.number { overflow-wrap: normal; white-space: nowrap; }
.scroll td:not(.number) { min-width: 11rem; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
dl.facts { display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1rem; }
dl.facts dt { color: var(--muted); }
dl.facts dd { margin: 0; }
.panel dl.facts + dl.facts { border-top: 1px solid var(--line); padding-top: .5rem; }
svg { max-width: 100%; height: auto; }
svg .bar { fill: var(--bar); }
summary { cursor: pointer; }
figure { margin: .7rem 0; }
@media (max-width: 34rem) {
  main { padding: 1rem .8rem 2rem; }
  dl.facts { grid-template-columns: 1fr; gap: 0; }
  dl.facts dd { margin-bottom: .4rem; }
}
@media print {
  :root {
    --ink: #000; --muted: #444; --paper: #fff; --panel: #f3f3f3; --line: #999; --link: #000;
    --good: #14491e; --attention: #7a2408; --bar: #444;
  }
  main { max-width: none; padding: 0; }
  .scroll { overflow: visible; }
  h2, h3 { break-after: avoid; }
  section.exercise, tr, .panel, figure { break-inside: avoid; }
}
"""


def page(title: str, body: str, lang: str = "en") -> str:
    """A whole HTML document around `body`, which stands inside its `main`.

    `title` is plain text and is escaped here; `body` is trusted as HTML, so each text in it has to
    be escaped before. Classes there are: `muted`, `good`, `attention`, `panel` (also with `good` or
    `attention`), `scroll` around a wide table, `number` for cells, `facts` for a `dl`.
    """
    return (
        f'<!DOCTYPE html>\n<html lang="{escape(lang)}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )

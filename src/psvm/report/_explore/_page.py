"""The interactive page as text: markup, style, program and data in one file."""

import base64
import hashlib
import json
from html import escape

from .._page import asset

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; \
style-src 'unsafe-inline'; script-src '{digest}'; base-uri 'none'; form-action 'none'">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>
{css}</style>
</head>
<body>
{body}
<script type="application/json" id="data">{data}</script>
<script>{script}</script>
</body>
</html>
"""
ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}
"""Characters that could end the script which holds the data."""


def render(contents):
    """The text of the page."""
    script = asset("_explore/explore.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    data = json.dumps(contents, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return PAGE.format(
        title=escape(contents["title"]),
        digest=f"sha256-{digest}",
        css=asset("page.css") + asset("_explore/explore.css"),
        body=asset("_explore/explore.html"),
        data=data.translate(ESCAPES),
        script=script,
    )

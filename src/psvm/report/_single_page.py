"""A page of markup, style, program and data that needs nothing else."""

import base64
import hashlib
import json
from html import escape

PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; \
style-src 'unsafe-inline'; script-src '{digest}'; connect-src {connect}; \
base-uri 'none'; form-action 'none'">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>
{css}</style>
</head>
<body>
{body}
{data}<script>{script}</script>
</body>
</html>
"""
ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}
"""Characters that could end the script which holds the data."""


def single_page(title, *, css, body, script, data=None, connect="'none'"):
    """The text of a page.

    Parameters
    ----------
    title : str
    css, body, script : str
        Style, markup and program.
    data : dict, default=None
        What the program finds in the element "data"; names in it may hold anything.
    connect : str
        Where the program may send requests, in the words of a content security policy.
    """
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return PAGE.format(
        title=escape(title),
        digest=f"sha256-{digest}",
        connect=connect,
        css=css,
        body=body,
        data="" if data is None else _embedded(data),
        script=script,
    )


def _embedded(data):
    """The element that holds the data, in which nothing can end it."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return f'<script type="application/json" id="data">{text.translate(ESCAPES)}</script>\n'

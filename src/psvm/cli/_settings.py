"""The settings of a run as a TOML file, from which it can be repeated."""

import json
import tomllib
from pathlib import Path

import click


def dump(tables):
    """TOML text of a dict of tables of plain values; None is left out."""
    lines = []
    for title, table in tables.items():
        lines.append(f"[{title}]")
        lines += [f"{_key(k)} = {_value(v)}" for k, v in table.items() if v is not None]
        lines.append("")
    return "\n".join(lines)


def _key(name):
    return name if name.replace("_", "").isalnum() and name.isascii() else _value(str(name))


def _value(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, int | float):
        return repr(value)
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")


def load(ctx, param, path):
    """Callback of ``--config``: what stands there replaces the defaults of the command."""
    if path is None:
        return None
    path = Path(path)
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise click.BadParameter(f"{path} is not a TOML file: {error}") from None
    name = ctx.command.name
    if name not in tables:
        raise click.BadParameter(f"{path} has no table [{name}] for this command.")
    known = {p.name: p for p in ctx.command.params}
    settings = dict(tables[name])
    for key, value in settings.items():
        if key not in known:
            raise click.BadParameter(f"{path}: psvm {name} has no setting {key!r}.")
        if isinstance(known[key].type, click.Path):
            several = isinstance(value, list)
            found = [str(path.parent / item) for item in (value if several else [value])]
            settings[key] = found if several else found[0]
    ctx.default_map = settings
    ctx.meta["psvm.recorded"] = tables.get("record", {})
    return str(path)


def relative(path, folder):
    """A path as seen from a folder if it lies below it, else as an absolute one; also several."""
    if isinstance(path, tuple):
        return [relative(one, folder) for one in path]
    path, folder = Path(path).resolve(), Path(folder).resolve()
    return str(path.relative_to(folder)) if path.is_relative_to(folder) else str(path)

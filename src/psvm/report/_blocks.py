"""What a report is made of, before it becomes a page."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Notes:
    """A list of sentences."""

    items: list


@dataclass(frozen=True)
class Code:
    """Lines to copy."""

    text: str


@dataclass(frozen=True)
class Warnings:
    """Things the reader should know before believing the rest."""

    items: list


@dataclass(frozen=True)
class TableBlock:
    """Rows of text and numbers; sorts on click if that helps."""

    caption: str
    headers: list
    rows: list


@dataclass(frozen=True)
class Details:
    """Blocks that few readers need: folded until their summary is pressed."""

    summary: str
    blocks: list


@dataclass(frozen=True)
class Figure:
    """A picture and what it shows, in words."""

    svg: bytes
    alt: str
    caption: str


@dataclass(frozen=True)
class Link:
    """The way to another page."""

    text: str
    address: str


@dataclass(frozen=True)
class Row:
    """Blocks side by side, where there is room."""

    blocks: list


@dataclass(frozen=True)
class Section:
    """A heading and what stands below it."""

    title: str
    blocks: list = field(default_factory=list)


@dataclass(frozen=True)
class Report:
    """A title, a few figures at the top, and sections."""

    title: str
    highlights: list
    """Pairs of label and value."""
    sections: list

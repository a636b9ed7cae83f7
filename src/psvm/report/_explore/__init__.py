"""The interactive page: what it holds, and how it is written."""

from ._explore import Exploration, explore

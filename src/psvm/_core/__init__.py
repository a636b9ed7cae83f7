"""Compiled inner loops: no validation, no GIL, nothing imported from the rest of the package."""

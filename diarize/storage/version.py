"""The version, which results and caches carry."""

__version__ = "0.2.0"

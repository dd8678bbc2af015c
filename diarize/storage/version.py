"""The version, which results and caches carry."""

__version__ = "0.1.0"

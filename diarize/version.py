"""The version, where whoever needs it finds it without importing anything else."""

__version__ = "0.1.0"

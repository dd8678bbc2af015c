"""Many recordings: a list of jobs, done one by one, by several processes or on a cluster.

`find_jobs` makes the list, `Work` says what is done with each, `run` does it, and `unfinished`
leaves out what an earlier run has finished.
"""

from diarize.batch.annotations import Turns
from diarize.batch.jobs import Job, find_jobs, require_distinct
from diarize.batch.results import Result
from diarize.batch.running import run, unfinished
from diarize.batch.targets import Targets
from diarize.batch.work import Done, Work

__all__ = [
    "Done",
    "Job",
    "Result",
    "Targets",
    "Turns",
    "Work",
    "find_jobs",
    "require_distinct",
    "run",
    "unfinished",
]

"""Many recordings: a list of jobs, done one by one, by several processes or on a cluster.

from diarize import Diarizer
from diarize.batch import Targets, Work, find_jobs, run, unfinished

work = Work(diarizer=Diarizer(), targets=Targets(folder=Path("results")))
for done in run(work, unfinished(work, find_jobs(["recordings/"])), workers=2):
print(done.job.source, done.problem or done.outputs)
"""

from diarize.batch.jobs import Job, find_jobs, require_distinct
from diarize.batch.results import Result
from diarize.batch.running import run, unfinished
from diarize.batch.targets import Targets
from diarize.batch.told import Turns
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

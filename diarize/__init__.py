"""Who spoke when, when people also speak at the same time.

The entry point is `diarize.pipeline.Diarizer`; everything it joins can be used alone:
`diarize.clustering` clusters any unit vectors into sets, `diarize.scoring` scores any annotations.
"""

__version__ = "0.1.0"

import inspect

from diarize import clustering
from diarize.cli.options import OWN_OPTIONS
from diarize.cli.run import run
from diarize.cli.stream import stream
from diarize.clustering import BACKENDS


def test_the_own_options_are_options_of_the_commands():
    for command in (run, stream):
        spelled = {"--" + name.replace("_", "-") for name in inspect.signature(command).parameters}
        assert set(OWN_OPTIONS.values()) <= spelled


def test_the_own_options_are_known_to_every_backend():
    for name in BACKENDS:
        assert OWN_OPTIONS.keys() <= clustering.make(name).get_params().keys()

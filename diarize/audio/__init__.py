"""Any recording as blocks of 16 kHz mono float32, with bounded memory."""

from diarize.audio.recording import SAMPLE_RATE, Recording, open_recording

__all__ = ["SAMPLE_RATE", "Recording", "open_recording"]

"""How recordings' names end."""

AUDIO_SUFFIXES = (
    ".wav", ".flac", ".ogg", ".oga", ".opus", ".mp3", ".aif", ".aiff", ".aifc", ".au", ".caf",
    ".rf64", ".w64", ".sph", ".m4a", ".m4b", ".mp4", ".m4v", ".mov", ".mkv", ".mka", ".webm",
    ".avi", ".aac", ".amr", ".wma", ".wv", ".ape", ".3gp",
)  # fmt: skip
"""Of what a folder is searched for; a file that is named may end in anything."""

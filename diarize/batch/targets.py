"""Where results go: a file, a folder or standard output; files whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from diarize.batch.jobs import Job, require_distinct
from diarize.errors import InputError


@dataclass(frozen=True)
class Targets:
    """What `--out`, `--format`, `--clips` and `--report` ask for.

    Attributes:
        folder: where files are named by the recording; None: one file, or standard output.
        file: the one file; None: standard output, unless there is a folder.
        formats: names of formats, or a single one.
        clips: where clips go; None: none are cut.
        several: whether there may be more than one recording.
        page: the one web page; None: there is none, or a folder of them.
        pages: where web pages are named by the recording; None: there is at most one.

    Raises:
        InputError: an unknown format or none, or one file for several formats or beside a folder.
    """

    folder: str | Path | None = None
    file: str | Path | None = None
    formats: Sequence[str] = ("rttm",)
    clips: str | Path | None = None
    several: bool = False
    page: str | Path | None = None
    pages: str | Path | None = None

    def __post_init__(self) -> None:
        from diarize.formats import require_format

        if isinstance(self.formats, str):
            object.__setattr__(self, "formats", (self.formats,))
        for name in self.formats:
            require_format(name)
        if not self.formats:
            raise InputError("formats: at least one is needed")
        if self.file is not None and (self.folder is not None or len(self.formats) > 1):
            other = "several formats" if self.folder is None else "a folder as well"
            raise InputError(f"{self.file}: is one file, but results are for {other}")

    @classmethod
    def resolve(
        cls,
        out: str,
        inputs: Sequence[Job],
        formats: Sequence[str] | None,
        *,
        several: bool,
        clips: Path | None = None,
        report: str | None = None,
    ) -> Targets:
        """Decide before any work is done, and refuse what could not be written.

        Args:
            out: the option's value; "-": standard output.
            inputs: the recordings.
            formats: names of formats; one that repeats counts once. None: what the ending of one
                file says, else RTTM.
            several: whether there may be more than one result.
            clips: a folder for clips; None: none are cut.
            report: a web page, or a folder for several; None: none are made.

        Raises:
            InputError: an unknown format, an ending that no format has, two recordings of one name,
                a place that cannot be written or that is not one for so many, or a file that is one
                of the recordings.
        """
        from diarize.formats import FORMATS, require_format, written_format
        from diarize.storage.files import refuse_input, require_folder, require_writable

        for name in formats or ():
            require_format(name)
        require_distinct(inputs, "their results would be one", by_place=out != "-")
        if clips is not None:
            require_folder(clips)
        sources = [job.source for job in inputs]
        page = pages = None
        if report is not None:
            from diarize.report.html import require_page

            page = Path(report)
            if several or _is_folder(report):
                require_folder(page)
                page, pages = None, page
            else:
                refuse_input(page, sources, "the page")
                require_page(page)
        told = list(dict.fromkeys(formats or ["rttm"]))
        if out == "-":
            if len(told) > 1:
                raise InputError("several formats need --out FOLDER")
            if several and not FORMATS[told[0]].named:
                raise InputError(f"several recordings as {told[0]} need --out FOLDER")
            return cls(None, None, told, clips, several, page, pages)
        path = Path(out)
        if several or len(told) > 1 or _is_folder(out):
            require_folder(path)
            return cls(path, None, told, clips, several, page, pages)
        require_writable(path)
        refuse_input(path, sources, "the result")
        if formats is None:
            told = [written_format(path) or "rttm"]
        return cls(None, path, told, clips, several, page, pages)

    def require_space(self, several: bool) -> None:
        """Refuse several recordings whose results would replace each other.

        Raises:
            InputError: names the place that is for one.
        """
        for place in (self.file, self.page, None if self.several else self.clips):
            if several and place is not None:
                raise InputError(f"{place}: is for one recording, but there are several")

    @property
    def printed(self) -> bool:
        """Whether results go to standard output, and whoever asked prints them."""
        return self.folder is None and self.file is None

    def clips_of(self, name: str) -> Path | None:
        """The folder for the clips of a recording, which may have sub-folders before its name.

        None: none are cut.
        """
        return None if self.clips is None else Path(self.clips, name if self.several else "")

    def page_of(self, name: str) -> Path | None:
        """The web page of a recording, whose name may have sub-folders before it; None: none."""
        if self.pages is not None:
            return Path(self.pages, f"{name}.html")
        return None if self.page is None else Path(self.page)

    def home(self, name: str) -> Path | None:
        """The folder of a recording's results; None: they are printed."""
        return None if self.printed else self._path(name, self.formats[0]).parent

    def write(self, name: str, texts: Mapping[str, str]) -> list[Path]:
        """Write one result in all formats, unless it is for standard output.

        The recording's name may have sub-folders before it.

        Returns:
            The files that were written.
        """
        from diarize.storage.files import atomic_text

        if self.printed:
            return []
        written = []
        for format, text in texts.items():
            path = self._path(name, format)
            path.parent.mkdir(parents=True, exist_ok=True)
            atomic_text(path, text)
            written.append(path)
        return written

    def _path(self, name: str, format: str) -> Path:
        """The file of a recording's result, which is not printed, in a format."""
        from diarize.formats import FORMATS

        if self.file is not None:
            return Path(self.file)
        return Path(self.folder or "", f"{name}.{FORMATS[format].suffix}")


def _is_folder(path: str) -> bool:
    """Whether a folder is there, or asked for."""
    return os.path.isdir(path) or path.endswith(("/", os.sep))

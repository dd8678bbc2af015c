"""Bytes that a stranger may send: anything at all, and good files with something wrong in them."""

from __future__ import annotations

from hypothesis import strategies as st

# What numbers, names and markup trip over.
_NASTY = (
    b"", b" ", b"\t", b"\n", b"\r", b"\0", b"\xff", b"\xef\xbb\xbf", b"\xff\xfe", b"-1", b"0",
    b"nan", b"inf", b"-inf", b"1e999", b"1e-999", b"-0.0", b"9" * 5000, b"9" * 30, b"true",
    b"null", b'"', b"'", b"\\ud800", b"\\u0000", b"[" * 2000, b"{", b"}", b"[]", b"<", b">", b"&",
    b"<!ENTITY x 'y'>", b"&x;", b"-->", b"../../x", b"/", b"\xe2\x80\xa8", b"\xc2\xa0", b",", b";",
    b"#", b":", b"=", b"!", b"ONLY:", b"\xed\xa0\x80", b"\xcd\x81",
)  # fmt: skip


@st.composite
def damaged(draw: st.DrawFn, seed: bytes) -> bytes:
    """A good file in which stretches are cut out, repeated, or replaced by what is nasty."""
    content = seed
    for _ in range(draw(st.integers(1, 4))):
        begin, end = sorted(draw(st.tuples(*[st.integers(0, len(content))] * 2)))
        end = min(end, begin + draw(st.sampled_from([0, 1, 2, 8, 1 << 20])))
        piece = draw(
            st.sampled_from(_NASTY) | st.binary(max_size=8) | st.just(content[begin:end] * 2)
        )
        content = content[:begin] + piece + content[end:]
    return content


def contents(*seeds: bytes) -> st.SearchStrategy[bytes]:
    """Any bytes, the good files, and damaged ones."""
    return st.binary(max_size=200) | st.sampled_from(seeds).flatmap(damaged)

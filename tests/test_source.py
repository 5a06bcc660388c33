"""Bytes and text: whatever is decoded can be written back, whatever cannot is refused."""

import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from atlas.errors import NotText
from atlas.source import Source, decode, encode, newline_of

LAW = settings(deadline=None)


@LAW
@given(st.binary())
@example(b"\xef\xbb\xbf\xef\xbb\xbfx")
@example(b"\xff\xfe\x00\x00")
@example(b"a\x00b\x00")
def test_decoding_loses_nothing(data):
    try:
        source = decode(data)
    except NotText as refused:
        assert refused.reason  # noqa: PT017 - either is right
    else:
        assert encode(source, source.text) == data


@LAW
@given(st.text(), st.sampled_from(["utf-8", "utf-16-le", "utf-16-be", "cp1252", "latin-1"]), st.booleans())
def test_what_is_encoded_is_read_back(text, encoding, marked):
    mark = "\ufeff".encode(encoding) if marked and encoding.startswith("utf") else b""
    try:
        data = encode(Source("", encoding, mark), text)
    except NotText:
        return
    assert decode(data).text == text


@pytest.mark.parametrize(
    ("data", "text", "encoding", "bom"),
    [
        (b"", "", "utf-8", b""),
        ("Zürich\r\n日本\n".encode(), "Zürich\r\n日本\n", "utf-8", b""),
        (b"\xef\xbb\xbf---\r\n", "---\r\n", "utf-8", b"\xef\xbb\xbf"),
        (b"\xff\xfe" + "né 日\r\n".encode("utf-16-le"), "né 日\r\n", "utf-16-le", b"\xff\xfe"),
        (b"\xfe\xff" + "né 日".encode("utf-16-be"), "né 日", "utf-16-be", b"\xfe\xff"),
        ("no mark, mostly Western é\n".encode("utf-16-le"), "no mark, mostly Western é\n", "utf-16-le", b""),
        ("no mark, mostly Western é\n".encode("utf-16-be"), "no mark, mostly Western é\n", "utf-16-be", b""),
        (b"caf\xe9 invoice\n", "café invoice\n", "cp1252", b""),
        (b"caf\xe9 \x81\n", "café \x81\n", "latin-1", b""),
        (b"\xef\xbb\xbfcaf\xe9\n", "café\n", "cp1252", b"\xef\xbb\xbf"),
        (b"a\0b secretword\n", "a\0b secretword\n", "utf-8", b""),
    ],
)
def test_encodings(data, text, encoding, bom):
    source = decode(data)
    assert (source.text, source.encoding, source.bom) == (text, encoding, bom)
    assert source.legacy == (encoding in {"cp1252", "latin-1"})
    assert encode(source, text) == data


@pytest.mark.parametrize(
    "data",
    [
        random.Random(7).randbytes(200_000),
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x01\0\0\0\x01\0\x08\x06\0\0\0",
        b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n\0\0\0\0",
        b"\0" * 4096,
        b"\xff\xfea",
        b"\xff\xfe\x00\xd8",
        "half a pair, unmarked".encode("utf-16-le") + b"\x01\xd8",
    ],
    ids=["random", "png", "pdf", "zeros", "half a character", "half a pair", "unmarked"],
)
def test_what_is_not_text_is_refused(data):
    with pytest.raises(NotText):
        decode(data)


def test_a_character_is_never_replaced():
    source = decode(b"caf\xe9\n")
    assert encode(source, "café — naïve\n") == b"caf\xe9 \x97 na\xefve\n"
    with pytest.raises(NotText, match=r"line 2 holds '日', which cp1252 cannot write"):
        encode(source, "café\n日\n")
    with pytest.raises(NotText):
        encode(Source(""), "\ud800")


def test_text_that_would_be_read_back_as_another_is_refused():
    with pytest.raises(NotText, match="read back"):
        encode(Source("", "cp1252"), "cafÃ©")  # in UTF-8 these bytes are `café`
    with pytest.raises(NotText, match="read back"):
        encode(Source(""), "\ufeff---")


@pytest.mark.parametrize(("text", "newline"), [("a\r\nb\n", "\r\n"), ("a\n", "\n"), ("a\rb", "\r"), ("a", "\n")])
def test_the_newline_of_a_text(text, newline):
    assert newline_of(text) == newline

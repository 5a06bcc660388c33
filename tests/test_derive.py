"""Rows from bytes: always the same, and a change of them must raise the stamp of the store."""

from __future__ import annotations

import hashlib
import json

from hypothesis import given, settings
from hypothesis import strategies as st

from atlas import store
from atlas.derive import Deriver
from atlas.keys import joined, parted

SAMPLE = """---
id: 01JDXK3Q8ZV5T9W2M4N6P8R0S1
kind: decision
tags: [cluster/jwt, auth]
created: 2026-11-29T10:00:00Z
importance: 0.8
aliases: [Race]
author: Ada
---
# JWT refresh race: sliding window

## Summary
Refresh tokens raced under parallel calls; the sliding window won.

## Detail
See [[Boiler|it]] and `ADR-016`. Grüße aus Zürich. 设备清单与备份计划. camelCaseName foo_bar.baz C++ #work/deep
"""

#: The rows of SAMPLE under each stamp. Do not edit a line: add one, and raise `store.STAMP`.
KNOWN = {"1": "18c4ecc7047d25ad", "2": "18c4ecc7047d25ad", "3": "18c4ecc7047d25ad", "4": "5d0d3d238806b16c",
         "5": "5d0d3d238806b16c", "6": "5d0d3d238806b16c", "7": "b203e5a384b0f209",
         "8": "b203e5a384b0f209"}  # fmt: skip


def digest(data: bytes) -> str:
    deriver = Deriver(0, 0)
    deriver.note("blob", data)
    deriver.name("JWT refresh")
    rows = deriver.take()
    everything = [
        *(rows.notes, rows.handles, rows.links, rows.chunk, rows.hashes, rows.searched),
        *map(list, (rows.term, rows.where, rows.tf)),
    ]
    return hashlib.sha256(json.dumps(everything).encode()).hexdigest()[:16]


def test_the_stamp_is_raised_with_the_rows():
    assert KNOWN.get(store.STAMP) == digest(SAMPLE.encode()), "rows changed: raise store.STAMP and add a line to KNOWN"


@settings(deadline=None, max_examples=50)
@given(st.text(max_size=300))
def test_the_same_bytes_give_the_same_rows(text):
    data = text.encode("utf-8", "replace")
    assert digest(data) == digest(data)


@given(st.lists(st.text(st.characters(exclude_characters="\x1f"), min_size=1)))
def test_a_list_survives_its_column(items):
    assert parted(joined(items)) == tuple(items)

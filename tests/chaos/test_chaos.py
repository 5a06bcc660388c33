"""Everything at random: editors, agents, a second committer, branches, rebases, kills, a full disk, odd clocks.

Afterwards no text, no memory and no row of the index may be lost or wrong, and no commit be there that nobody asked
for. `ATLAS_STORIES=100 pytest tests/chaos` tells more stories, `ATLAS_SEED` begins elsewhere.
"""

from __future__ import annotations

import os
from contextlib import nullcontext

import pytest
import same
from shell import spawn

from atlas import template
from chaos.bystanders import settle, two_watchers
from chaos.world import World

STORIES = int(os.environ.get("ATLAS_STORIES", "13"))
ROUNDS = 40
SEED = int(os.environ.get("ATLAS_SEED", "1"))


@pytest.mark.parametrize("seed", range(SEED, SEED + STORIES))
def test_nothing_is_lost(seed, repo, git, sound, tmp_path):
    """Every second story is told with hooks and the merge driver, every third beside two watchers."""
    template.create(repo)
    hooked, watched = seed % 2 == 0, seed % 3 == 0
    if hooked:
        assert spawn("hooks", "install", cwd=repo).code == 0
    world = World(repo, seed)
    try:
        with two_watchers(repo, tmp_path) if watched else nullcontext([]) as wrong:
            for _ in range(ROUNDS):
                world.turn()
            world.audit()
        settle(repo)
        world.tally.wrong += wrong
        same.check(repo, world.engine)
    finally:
        world.close()
        print(f"seed {seed}: {world.tally}\n" + "\n".join(world.story))
    assert world.tally.losses == 0
    sound(repo)
    assert not list(repo.rglob(".atlas-tmp-*"))
    assert not list((repo / ".atlas" / "pending").glob("*"))

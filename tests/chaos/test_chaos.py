"""Everything at random: editors, agents, a second committer, branches, rebases, kills, a full disk, odd clocks.

Afterwards no text, no memory and no row of the index may be lost or wrong, and no commit be there that nobody asked
for. `ATLAS_STORIES=100 pytest tests/chaos` tells more stories, `ATLAS_SEED` begins elsewhere.
"""

from __future__ import annotations

import os

import pytest
import same

from atlas import template
from chaos.world import World

STORIES = int(os.environ.get("ATLAS_STORIES", "13"))
ROUNDS = 40
SEED = int(os.environ.get("ATLAS_SEED", "1"))


@pytest.mark.parametrize("seed", range(SEED, SEED + STORIES))
def test_nothing_is_lost(seed, repo, git, sound):
    template.create(repo)
    world = World(repo, seed)
    try:
        for _ in range(ROUNDS):
            world.turn()
        world.audit()
        same.check(repo, world.engine)
    finally:
        world.close()
        print(f"seed {seed}: {world.tally}\n" + "\n".join(world.story))
    assert world.tally.losses == 0
    sound(repo)
    assert not list(repo.rglob(".atlas-tmp-*"))
    assert not list((repo / ".atlas" / "pending").glob("*"))

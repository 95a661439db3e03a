"""A short run of random_models.py and mutated_models.py; TENFOLD_LONG_TESTS makes it a long one, on other seeds each day."""
import os
import time

import mutated_models
import random_models

LONG = bool(os.environ.get("TENFOLD_LONG_TESTS"))


def test_random_models_agree():
    first, count = (10**6 + int(time.time()) // 86400 * 10**5, 20000) if LONG else (0, 150)
    found, ran = [], 0
    for seed in range(first, first + count):
        case = random_models.Case(seed)
        if not case.nodes:
            continue
        print(f"seed {seed}", flush=True)  # the last one printed is the one it crashed in
        ran += 1
        for what, why in case.check([3, 0, 3, 1, 3, 2][seed % 6]):
            if what != "refused, as all do":
                found.append(f"seed {seed}: {case.nodes} ({case.oracle}) {what}: {why}")
    print(f"{ran} models")
    assert found == [] and ran > 0.9 * count


def test_mutated_models_are_refused_or_run():
    first, count = (10**6, 20000) if LONG else (0, 150)
    bad = []
    for seed in range(first, first + count):
        said = mutated_models.attempt_apart(seed)
        if said.startswith("!"):
            bad.append((seed, mutated_models.broken(seed)[2], said))
    assert bad == []

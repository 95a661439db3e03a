"""Models as files."""

import numpy as np
import pytest

import support


@pytest.fixture(scope="session")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    (folder / "small.mlir").write_text(support.SMALL)
    (folder / "pair.mlir").write_text(support.PAIR)
    rng = np.random.default_rng(7)
    np.save(folder / "x.npy", rng.standard_normal((5, 3)).astype(np.float32))
    return folder


@pytest.fixture(scope="session")
def artifact(models):
    path = models / "small.tenfold"
    support.tenfold("compile", models / "small.mlir", "-o", path)
    return path


@pytest.fixture(scope="session")
def shared_object(models):
    path = models / "small.so"
    support.tenfold("compile", models / "small.mlir", "-o", path)
    return path

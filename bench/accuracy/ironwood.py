"""The rows of silicon_ironwood.csv that one device can run: square products and copies."""

from stablehlo import Graph
from v6e import matmuls


def copy(mib):
    """A stream in and a stream out; a sign changes so that there is something to do."""
    g = Graph()
    return g.text([g.unary("negate", g.arg((mib * 2**20 // 2,), "bf16"))])


def workload(row):
    if row["kind"] == "gemm_bf16":
        return matmuls(*(int(n) for n in row["shape"].split("x")), 1)
    if row["kind"] == "hbm_copy":
        return copy(int(row["shape"].removesuffix("MiB")))
    return None  # collectives: pods are not simulated

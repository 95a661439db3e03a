"""Tenfold compiles trained models to native code and runs them.

    import tenfold
    model = tenfold.load("model.onnx")         # or an artifact: "model.tenfold", "model.so"
    y = model(x)                               # NumPy arrays, or anything that speaks DLPack
    model.save("model.tenfold")                # for the runtime that has no compiler in it

Arrays are taken and given without copies: an input is read where it lies (if it is contiguous), and
an output's memory belongs to the array that comes back.
"""

from ._errors import Error, Problem
from ._model import (CheckResult, KernelTime, Model, TensorInfo, check, compile, evaluate, load,
                     targets)
from ._tenfold import version as __version__

__all__ = ["CheckResult", "Error", "KernelTime", "Model", "Problem", "TensorInfo", "__version__",
           "check", "compile", "evaluate", "load", "targets"]

"""What the tests of the command line share: running it, and models small enough to work out by hand."""

import json
import os
import subprocess

import numpy as np

BIN = os.environ["TENFOLD_BIN"]
BUILD = os.environ["TENFOLD_BUILD"]
SOURCE = os.environ["TENFOLD_SOURCE"]

# y = tanh(x) + x for x of [n, 3].
SMALL = """
module @small {
  func.func @main(%x: tensor<?x3xf32, #tenfold.dims<n, 3>>) -> tensor<?x3xf32, #tenfold.dims<n, 3>> {
    %0 = stablehlo.tanh %x : tensor<?x3xf32, #tenfold.dims<n, 3>>
    %1 = stablehlo.add %0, %x : tensor<?x3xf32, #tenfold.dims<n, 3>>
    return %1 : tensor<?x3xf32, #tenfold.dims<n, 3>>
  }
}
"""

# Two inputs, two outputs: a sum of integers and a product with a constant.
PAIR = """
module @pair {
  func.func @main(%arg0: tensor<2x2xi32>, %arg1: tensor<2x2xi32>)
      -> (tensor<2x2xi32>, tensor<2x2xi32>) {
    %c = stablehlo.constant dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>
    %0 = stablehlo.add %arg0, %arg1 : tensor<2x2xi32>
    %1 = stablehlo.multiply %0, %c : tensor<2x2xi32>
    return %0, %1 : tensor<2x2xi32>, tensor<2x2xi32>
  }
}
"""


def large(elements):
    """Adds a constant of that many different f32 values to its input."""
    values = np.arange(elements, dtype=np.float32)
    text = "0x" + values.tobytes().hex().upper()
    t = f"tensor<{elements}xf32>"
    return (f"module @large {{\n  func.func @main(%x: {t}) -> {t} {{\n"
            f'    %c = stablehlo.constant dense<"{text}"> : {t}\n'
            f"    %0 = stablehlo.add %x, %c : {t}\n    return %0 : {t}\n  }}\n}}\n")


def tenfold(*args, code=0, **kwargs):
    """Runs the program; the finished process. `code` is the exit code it must have."""
    done = subprocess.run([BIN, *map(str, args)], capture_output=True, text=True, timeout=120,
                          **kwargs)
    assert done.returncode == code, (args, done.returncode, done.stdout, done.stderr)
    return done


def tenfold_json(*args, **kwargs):
    """Standard output must be one JSON object and nothing else."""
    return json.loads(tenfold(*args, "--json", **kwargs).stdout)

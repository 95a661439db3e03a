"""A model through onnxruntime, and how far a result may be from its."""

import numpy as np
import onnxruntime

TOLERANCE = 1e-4  # of the output's largest value


def reference(model):
    """A session of a path or of a model's bytes; silent but for fatal errors."""
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def assert_close(got, want, name):
    assert got.shape == want.shape and got.dtype == want.dtype, name
    if want.dtype.kind != "f":
        np.testing.assert_array_equal(got, want, err_msg=name)
        return
    error = np.abs(got.astype(np.float64) - want).max() / max(np.abs(want).max(), 1e-30)
    assert error <= TOLERANCE, f"{name}: {error:.2e} of the largest value"

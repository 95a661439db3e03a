#!/usr/bin/env python3
"""Time peers on one ONNX file with interleaved runs, and check that their outputs agree with onnxruntime's.

    peers.py MODEL.onnx [--peers ort,openvino,...] [--threads 1,2] [--inputs FILE.npz] [--sym name=size ...]
             [--rounds 12] [--slice 0.25] [--timeout 900] [--json FILE] [--tvm-db DIR]

Each (peer, threads) pair is a process of its own, pinned to that many cores. It compiles, then waits stopped
(SIGSTOP, so no spinning pool disturbs another peer) until its turn; turns go round robin, `rounds` times, each for
about `slice` seconds. Printed: compile time (load to first answer, the library already imported), minimum and median of one inference, peak
resident memory (of which after importing the library), largest error against onnxruntime relative to the output's largest value.
Inputs and outputs are bound beforehand where the peer's Python API can do so.

Peers: tenfold (the Python package), ort, openvino (f32), openvino-default (its own choice of precision), openvino-f16, iree, jax (through a small ONNX
interpreter under jit, NHWC for convolutions, weights as arguments), tvm (relax default pipeline, untuned),
tvm-tuned (with a MetaSchedule database from tvm_tune.py), litert (a .tflite beside the model), torch and
torch-compile (through onnx2torch; eager and inductor with freezing). --python runs a peer in another environment.
Run under `setsid` as root and it raises its own autogroup's priority, which keeps other programs' load out of the minimum.
"""
import argparse
import importlib
import json
import os
import resource
import select
import signal
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np


# Peers: each returns (call, outputs): call() runs once and blocks; outputs() gives numpy arrays in graph order.

def peer_ort(path, feeds, threads, opt):
    import onnxruntime as ort
    so = ort.SessionOptions()
    so.intra_op_num_threads, so.inter_op_num_threads, so.log_severity_level = threads, 1, 4
    s = ort.InferenceSession(path, so, providers=["CPUExecutionProvider"])
    io = s.io_binding()
    for k, v in feeds.items():
        io.bind_ortvalue_input(k, ort.OrtValue.ortvalue_from_numpy(v))
    for o in s.get_outputs():
        io.bind_output(o.name, "cpu")
    try:
        s.run_with_iobinding(io)
        s.run_with_iobinding(io)
    except RuntimeError:  # a model whose declared output rank is wrong
        return lambda: s.run(None, feeds), lambda: s.run(None, feeds)
    return lambda: s.run_with_iobinding(io), lambda: io.copy_outputs_to_cpu()


def peer_openvino(path, feeds, threads, opt, precision="f32"):
    import openvino as ov
    core = ov.Core()
    cfg = {"INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "PERFORMANCE_HINT": "LATENCY"}
    if precision:
        cfg["INFERENCE_PRECISION_HINT"] = precision
    m = core.read_model(path)
    m.reshape({k: list(v.shape) for k, v in feeds.items()})
    r = core.compile_model(m, "CPU", cfg).create_infer_request()
    for k, v in feeds.items():
        r.set_tensor(k, ov.Tensor(v))
    return r.infer, lambda: [o.data.copy() for o in r.output_tensors]


def peer_openvino_default(path, feeds, threads, opt):
    return peer_openvino(path, feeds, threads, opt, None)


def peer_openvino_f16(path, feeds, threads, opt):
    return peer_openvino(path, feeds, threads, opt, "f16")


def peer_iree(path, feeds, threads, opt):
    import iree.runtime as rt
    bin_ = os.path.dirname(sys.executable)
    d = tempfile.mkdtemp()
    fixed = os.path.join(d, "m.onnx")
    fix_dims(path, feeds, fixed)
    subprocess.run([f"{bin_}/iree-import-onnx", fixed, "-o", f"{d}/m.mlir", "--opset-version", "17"], check=True,
                   stderr=subprocess.PIPE)
    subprocess.run([f"{bin_}/iree-compile", f"{d}/m.mlir", "-o", f"{d}/m.vmfb", "--iree-input-type=onnx",
                    "--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu",
                    "--iree-llvmcpu-target-cpu=host", "--iree-opt-level=O3", *opt.get("iree", [])], check=True, stderr=subprocess.PIPE)
    if threads > 1:
        rt.flags.parse_flags(f"--task_topology_group_count={threads}")
    cfg = rt.Config("local-sync" if threads == 1 else "local-task")
    ctx = rt.SystemContext(config=cfg)
    vm = rt.VmModule.mmap(ctx.instance, f"{d}/m.vmfb")
    ctx.add_vm_module(vm)
    mod = ctx.modules[vm.name]
    f = mod[[n for n in vm.function_names if not n.startswith("__") and not n.endswith("$async")][0]]
    args = [rt.asdevicearray(cfg.device, v) for v in feeds.values()]
    box = {}

    def call():
        box["o"] = f(*args)
    return call, lambda: [np.asarray(x) for x in (box["o"] if isinstance(box["o"], tuple) else (box["o"],))]


def peer_jax(path, feeds, threads, opt):
    import jax
    m = load_fixed(path, feeds)
    fn, params = onnx_to_jax(m)
    jf = jax.jit(fn)
    args = ({k: jax.device_put(v) for k, v in params.items()}, {k: jax.device_put(v) for k, v in feeds.items()})
    comp = jf.lower(*args).compile()
    box = {}

    def call():
        box["o"] = jax.block_until_ready(comp(*args))
    return call, lambda: [np.asarray(x) for x in box["o"]]


def peer_tvm(path, feeds, threads, opt, db=None):
    import tvm
    from tvm import relax
    from tvm.relax.frontend.onnx import from_onnx
    target = tvm.target.Target({"kind": "llvm", "mcpu": "sapphirerapids", "num-cores": threads})
    mod = from_onnx(load_fixed(path, feeds), keep_params_in_input=False)
    if db:
        from tvm.s_tir import meta_schedule as ms
        mod = relax.get_pipeline("zero")(mod)
        with target, ms.database.JSONDatabase(work_dir=db, allow_missing=False), tvm.transform.PassContext(opt_level=3):
            mod = relax.transform.MetaScheduleApplyDatabase(enable_warning=False)(mod)
    ex = tvm.compile(mod, target)
    vm = relax.VirtualMachine(ex, tvm.cpu())
    vm.set_input("main", *[tvm.runtime.tensor(v) for v in feeds.values()])

    def outputs():
        o = vm.get_outputs("main")
        return [x.numpy() for x in (o if hasattr(o, "__len__") and not hasattr(o, "numpy") else [o])]
    return lambda: vm.invoke_stateful("main"), outputs


def peer_tvm_tuned(path, feeds, threads, opt):
    return peer_tvm(path, feeds, threads, opt, db=opt["tvm_db"])


def peer_litert(path, feeds, threads, opt):
    from ai_edge_litert.interpreter import Interpreter
    i = Interpreter(model_path=os.path.splitext(path)[0] + ".tflite", num_threads=threads)
    i.allocate_tensors()
    for d, v in zip(i.get_input_details(), feeds.values()):
        i.set_tensor(d["index"], v.reshape(d["shape"]) if v.ndim != 4 else v.transpose(0, 2, 3, 1).copy())
    return i.invoke, lambda: [i.get_tensor(d["index"]) for d in i.get_output_details()]


def peer_torch(path, feeds, threads, opt, compiled=False):
    import torch
    from onnx2torch import convert
    torch.set_num_threads(threads)
    m = convert(load_fixed(path, feeds)).eval()
    args, box = [torch.from_numpy(v) for v in feeds.values()], {}
    with torch.inference_mode():
        f = torch.compile(m, options={"freezing": True}) if compiled else m

    def call():
        with torch.inference_mode():
            box["o"] = f(*args)
    return call, lambda: [x.numpy() for x in (box["o"] if isinstance(box["o"], (tuple, list)) else (box["o"],))]


def peer_torch_compile(path, feeds, threads, opt):
    return peer_torch(path, feeds, threads, opt, True)


def peer_tenfold(path, feeds, threads, opt):
    import tenfold
    m = tenfold.load(path, threads=threads)
    box = {}

    def call():
        box["o"] = m(**feeds)
    return call, lambda: list(box["o"]) if isinstance(box["o"], tuple) else [box["o"]]


PEERS = {"tenfold": peer_tenfold, "ort": peer_ort, "openvino": peer_openvino, "openvino-default": peer_openvino_default,
         "openvino-f16": peer_openvino_f16, "iree": peer_iree,
         "jax": peer_jax, "tvm": peer_tvm, "tvm-tuned": peer_tvm_tuned, "litert": peer_litert, "torch": peer_torch,
         "torch-compile": peer_torch_compile}


IMPORTS = {"tenfold": "tenfold", "ort": "onnxruntime", "openvino": "openvino", "openvino-default": "openvino", "openvino-f16": "openvino",
           "iree": "iree.runtime", "jax": "jax",
           "tvm": "tvm.relax.frontend.onnx", "tvm-tuned": "tvm.relax.frontend.onnx", "litert": "ai_edge_litert.interpreter",
           "torch": "onnx2torch", "torch-compile": "onnx2torch"}


# A small ONNX interpreter for jax.jit

def onnx_to_jax(m):
    """(f(params, feeds) -> outputs, float params). Rank-4 images are kept NHWC when the model has convolutions."""
    import jax
    import jax.numpy as jnp
    from jax import lax
    from onnx import helper, numpy_helper
    inits = {i.name: numpy_helper.to_array(i) for i in m.graph.initializer}
    image = any(n.op_type == "Conv" for n in m.graph.node)
    params = {}
    conv_w = {n.input[1] for n in m.graph.node if n.op_type == "Conv"}
    for k, v in inits.items():
        if v.dtype.kind == "f" and v.size > 1:
            params[k] = np.ascontiguousarray(v.transpose(2, 3, 1, 0)) if k in conv_w else v
    unary = {"Relu": jax.nn.relu, "Erf": lambda x: jax.scipy.special.erf(x), "Tanh": jnp.tanh, "Sigmoid": jax.nn.sigmoid,
             "Sqrt": jnp.sqrt, "Identity": lambda x: x, "HardSwish": lambda x: x * jnp.clip(x / 6 + 0.5, 0, 1)}
    binary = {"Add": jnp.add, "Sub": jnp.subtract, "Mul": jnp.multiply, "Div": jnp.divide, "Pow": jnp.power}

    def pads(a, nd=2):
        p = a.get("pads", [0] * 2 * nd)
        return [(p[i], p[i + nd]) for i in range(nd)]

    def lstm(x, w, r, b, a):
        h, dirs, ys = a["hidden_size"], w.shape[0], []
        for d in range(dirs):
            seq = x[::-1] if d == 1 else x
            wx = jnp.einsum("sni,gi->sng", seq, w[d]) + b[d, :4 * h] + b[d, 4 * h:]
            rt_ = r[d].T

            def step(c, g, rt_=rt_):
                hh, cc = c
                i, o, f, z = jnp.split(g + hh @ rt_, 4, axis=-1)
                cc = jax.nn.sigmoid(f) * cc + jax.nn.sigmoid(i) * jnp.tanh(z)
                hh = jax.nn.sigmoid(o) * jnp.tanh(cc)
                return (hh, cc), hh
            z0 = jnp.zeros((x.shape[1], h), x.dtype)
            _, y = lax.scan(step, (z0, z0), wx)
            ys.append(y[::-1] if d == 1 else y)
        return jnp.stack(ys, 1)

    def fn(params, feeds):
        env = {k: v for k, v in inits.items() if k not in params}
        env.update(params)
        for k, v in feeds.items():
            env[k] = jnp.transpose(v, (0, 2, 3, 1)) if image and v.ndim == 4 else v
        for n in m.graph.node:
            a = {x.name: helper.get_attribute_value(x) for x in n.attribute}
            i = [env[x] if x else None for x in n.input]
            k = n.op_type
            if k in unary:
                o = unary[k](i[0])
            elif k in binary:
                o = binary[k](i[0], i[1])
            elif k == "Conv":
                o = lax.conv_general_dilated(i[0], i[1], a["strides"], pads(a), rhs_dilation=a.get("dilations"),
                                             dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=a.get("group", 1))
                o = o + i[2] if len(i) > 2 else o
            elif k == "BatchNormalization":
                s = i[1] / jnp.sqrt(i[4] + a["epsilon"])
                o = i[0] * s + (i[2] - i[3] * s)
            elif k == "Clip":
                o = jnp.clip(i[0], i[1], i[2])
            elif k == "HardSigmoid":
                o = jnp.clip(i[0] * a["alpha"] + a["beta"], 0, 1)
            elif k in ("MaxPool", "AveragePool"):
                w, s = (1, *a["kernel_shape"], 1), (1, *a["strides"], 1)
                pp = [(0, 0), *pads(a), (0, 0)]
                o = (lax.reduce_window(i[0], -jnp.inf, lax.max, w, s, pp) if k == "MaxPool" else
                     lax.reduce_window(i[0], 0.0, lax.add, w, s, pp) / np.prod(w))
            elif k == "GlobalAveragePool":
                o = jnp.mean(i[0], axis=(1, 2), keepdims=True)
            elif k == "Flatten":
                o = i[0].reshape(i[0].shape[0], -1)
            elif k == "Gemm":
                x, w = i[0].T if a.get("transA") else i[0], i[1].T if a.get("transB") else i[1]
                o = x @ w + i[2]
            elif k == "MatMul":
                o = jnp.matmul(i[0], i[1])
            elif k == "Softmax":
                o = jax.nn.softmax(i[0], axis=a.get("axis", -1))
            elif k == "LayerNormalization":
                mu = i[0].mean(-1, keepdims=True)
                d = i[0] - mu
                o = d * lax.rsqrt((d * d).mean(-1, keepdims=True) + a["epsilon"]) * i[1] + i[2]
            elif k == "Transpose":
                o = jnp.transpose(i[0], a["perm"])
            elif k == "Reshape":
                o = i[0].reshape([i[0].shape[j] if s == 0 else int(s) for j, s in enumerate(i[1])])
            elif k in ("Unsqueeze", "Squeeze"):
                o = (jnp.expand_dims if k == "Unsqueeze" else jnp.squeeze)(i[0], tuple(int(x) for x in i[1]))
            elif k == "Cast":
                o = jnp.asarray(i[0]).astype(helper.tensor_dtype_to_np_dtype(a["to"]))
            elif k == "Gather":
                o = jnp.take(i[0], i[1], axis=a.get("axis", 0))
            elif k == "Concat":
                o = jnp.concatenate(i, a["axis"])
            elif k == "Where":
                o = jnp.where(*i)
            elif k == "Split":
                o = jnp.split(i[0], np.cumsum(i[1])[:-1], a["axis"])
            elif k == "LSTM":
                o = [lstm(i[0], i[1], i[2], i[3], a)]
            else:
                raise NotImplementedError(k)
            for name, v in zip(n.output, o if isinstance(o, list) else [o]):
                env[name] = v
        return [env[o.name] for o in m.graph.output]
    return fn, params


# Worker and coordinator

def load_fixed(path, feeds):
    """The model with every input shape fixed to the feeds' shapes."""
    import onnx
    m = onnx.load(path)
    for v in m.graph.input:
        if v.name in feeds:
            del v.type.tensor_type.shape.dim[:]
            for d in feeds[v.name].shape:
                v.type.tensor_type.shape.dim.add().dim_value = d
    return m


def fix_dims(path, feeds, dest):
    import onnx
    onnx.save(onnx.shape_inference.infer_shapes(load_fixed(path, feeds)), dest)


def rss_peak():
    return int([x for x in open("/proc/self/status") if x.startswith("VmHWM")][0].split()[1]) / 1024


def worker(name, path, inputs, threads, opt, out):
    feeds = dict(np.load(inputs))
    if name.startswith("tvm"):
        os.environ["TVM_NUM_THREADS"] = str(threads)
    importlib.import_module(IMPORTS[name])
    base, t0 = rss_peak(), time.perf_counter()
    call, outputs = PEERS[name](path, feeds, threads, opt)
    call()
    compile_s = time.perf_counter() - t0
    outs = outputs()
    np.savez(out, **{f"o{i}": x for i, x in enumerate(outs)})
    print("@" + json.dumps({"compile_s": compile_s, "base_mb": base, "peak_mb": rss_peak(),
                            "child_mb": resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024}), flush=True)
    for line in sys.stdin:
        seconds = float(line)
        call()
        ts, end = [], time.perf_counter() + seconds
        while True:
            t = time.perf_counter()
            call()
            e = time.perf_counter()
            ts.append((e - t) * 1e3)
            if e > end:
                break
        print("@" + json.dumps(ts), flush=True)


def answer(proc, timeout):
    """The next protocol line of a worker, None when it died or took too long."""
    end = time.time() + timeout
    while time.time() < end:
        if not select.select([proc.stdout], [], [], 1)[0]:
            if proc.poll() is not None:
                return None
            continue
        line = proc.stdout.readline()
        if not line:
            return None
        if line.startswith("@"):
            return json.loads(line[1:])
    return None


def rel_err(a, b):
    a, b = a.astype(np.float64), b.astype(np.float64)
    if a.size != b.size:
        return float("nan")
    return float(np.abs(a.ravel() - b.ravel()).max() / max(1e-30, np.abs(b).max()))


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("model")
    p.add_argument("--peers", default="ort,openvino,iree,jax")
    p.add_argument("--threads", default="1,2")
    p.add_argument("--inputs")
    p.add_argument("--sym", nargs="*", default=[])
    p.add_argument("--rounds", type=int, default=12)
    p.add_argument("--slice", type=float, default=0.25)
    p.add_argument("--timeout", type=float, default=900)
    p.add_argument("--json")
    p.add_argument("--tvm-db")
    p.add_argument("--iree-flag", action="append", default=[])
    p.add_argument("--python", action="append", default=[], metavar="PEER=EXECUTABLE")
    p.add_argument("--worker", nargs=5, help=argparse.SUPPRESS)
    a = p.parse_args()
    opt = {"tvm_db": a.tvm_db, "iree": a.iree_flag}
    if a.worker:
        name, inputs, threads, opts, out = a.worker
        return worker(name, a.model, inputs, int(threads), json.loads(opts), out)
    try:
        with open("/proc/self/autogroup", "w") as f:
            f.write("-20")
    except OSError:
        pass
    tmp = tempfile.mkdtemp()
    inputs = a.inputs
    if not inputs:
        sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../test/models"))
        import onnx
        from make_models import make_inputs
        inputs = f"{tmp}/in.npz"
        np.savez(inputs, **make_inputs(onnx.load(a.model), {k: int(v) for k, v in (s.split("=") for s in a.sym)}))
    cores, rows = sorted(os.sched_getaffinity(0)), []
    for t in (int(x) for x in a.threads.split(",")):
        for name in a.peers.split(","):
            out, env = f"{tmp}/{name}-{t}.npz", dict(os.environ)
            env.pop("OPENBLAS_CORETYPE", None)
            env.update(OMP_NUM_THREADS=str(t), JAX_PLATFORMS="cpu")
            mask = set(cores[-t:])
            py = dict(x.split("=", 1) for x in a.python).get(name, sys.executable)
            pr = subprocess.Popen([py, os.path.abspath(__file__), a.model, "--worker", name, inputs, str(t),
                                   json.dumps(opt), out], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=open(f"{tmp}/{name}-{t}.err", "w"), text=True, env=env,
                                  preexec_fn=lambda mask=mask: os.sched_setaffinity(0, mask))
            info = answer(pr, a.timeout)
            if info is None:
                pr.kill()
                err = [x for x in open(f"{tmp}/{name}-{t}.err").read().splitlines() if x.strip()]
                print(f"{name} threads={t}: failed: {err[-1][:300] if err else 'no answer'}", file=sys.stderr)
                rows.append({"peer": name, "threads": t, "error": err[-6:] if err else ["timeout"]})
                continue
            os.kill(pr.pid, signal.SIGSTOP)
            rows.append({"peer": name, "threads": t, "proc": pr, "ms": [], "out": out, **info})
    live = [r for r in rows if "proc" in r]
    for _ in range(a.rounds):
        for r in [r for r in live if "died" not in r]:
            try:
                os.kill(r["proc"].pid, signal.SIGCONT)
                r["proc"].stdin.write(f"{a.slice}\n")
                r["proc"].stdin.flush()
                r["ms"] += answer(r["proc"], 300) or []
                os.kill(r["proc"].pid, signal.SIGSTOP)
            except OSError:
                r["died"] = r["proc"].wait()
                print(f"{r['peer']} threads={r['threads']}: died with {r['died']} after {len(r['ms'])} runs", file=sys.stderr)
    for r in live:
        r["proc"].kill()
    live = [r for r in live if r["ms"]]
    model = os.path.splitext(os.path.basename(a.model))[0]
    ref = next((r for r in rows if r["peer"] == "ort" and "out" in r), None)
    ref = list(np.load(ref["out"]).values()) if ref else None
    print(f"\n{model}: load {os.getloadavg()[0]:.1f}\n{'peer':18} thr  compile s    min ms  median ms   runs  peak MB (base)  max rel err")
    for r in live:
        outs = list(np.load(r["out"]).values())
        r["err"] = max((rel_err(x, y) for x, y in zip(outs, ref)), default=float("nan")) if ref else float("nan")
        r["min"], r["median"] = min(r["ms"]), statistics.median(r["ms"])
        child = f" +compiler {r['child_mb']:.0f}" if r["child_mb"] > 50 else ""
        print(f"{r['peer']:18} {r['threads']:3} {r['compile_s']:10.2f} {r['min']:9.3f} {r['median']:10.3f} {len(r['ms']):6} "
              f"{r['peak_mb']:8.0f} ({r['base_mb']:.0f}){child}  {r['err']:.1e}", flush=True)
    if a.json:
        with open(a.json, "a") as f:
            for r in rows:
                f.write(json.dumps({"model": model, **{k: v for k, v in r.items() if k not in ("proc", "ms", "out")},
                                    "runs": len(r.get("ms", []))}) + "\n")


if __name__ == "__main__":
    main()

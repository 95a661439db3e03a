"""Valid models broken on purpose: each is refused with an error or runs, and never crashes.

    mutated_models.py [--count N] [--first SEED] [--write FOLDER]

--write only writes the models, e.g. as a corpus for the sanitizer build of onnx_fuzz.
"""
import argparse
import os
import pathlib

import numpy as np
import onnx
from onnx import AttributeProto, TensorProto, helper

import tenfold
from random_models import Case

HUGE = (2**31 - 1, 2**31, 2**62, 2**63 - 1, -1, -(2**63), 0)


def nodes(m):
    """Every node, those of inner graphs too."""
    todo, out = [m.graph], []
    while todo:
        for n in todo.pop().node:
            out.append(n)
            todo += [a.g for a in n.attribute if a.HasField("g")]
    return out


def drop_input(r, m, n):
    if n.input:
        del n.input[r.integers(len(n.input))]


def empty_input(r, m, n):
    if n.input:
        n.input[r.integers(len(n.input))] = ""


def more_inputs(r, m, n):
    n.input.extend(list(n.input)[:1] * int(r.integers(1, 4)))


def unknown_input(r, m, n):
    if n.input:
        n.input[r.integers(len(n.input))] = "nobody"


def cycle(r, m, n):
    if n.input and n.output:
        n.input[r.integers(len(n.input))] = n.output[0]


def swap_inputs(r, m, n):
    if len(n.input) > 1:
        i, j = r.permutation(len(n.input))[:2]
        n.input[i], n.input[j] = n.input[j], n.input[i]


def same_output(r, m, n):
    n.output.append(n.output[0] if n.output else "y")


def more_outputs(r, m, n):
    n.output.append("extra")


def reverse_nodes(r, m, n):
    order = [onnx.NodeProto.FromString(x.SerializeToString()) for x in m.graph.node][::-1]
    del m.graph.node[:]
    m.graph.node.extend(order)


def other_op(r, m, n):
    n.op_type = str(r.choice([s.name for s in onnx.defs.get_all_schemas() if s.domain == n.domain]))


def drop_attribute(r, m, n):
    if n.attribute:
        del n.attribute[r.integers(len(n.attribute))]


def attribute_type(r, m, n):
    if n.attribute:
        a = n.attribute[r.integers(len(n.attribute))]
        value = [3, 2.5, "text", [1, -2, 2**40], [0.5, float("nan")], ["a", "b"]][r.integers(6)]
        a.CopyFrom(helper.make_attribute(a.name, value))


def attribute_value(r, m, n):
    for a in n.attribute:
        if a.type == AttributeProto.INT:
            a.i = int(r.choice(HUGE))
        elif a.type == AttributeProto.INTS and r.random() < 0.7:
            ints = list(a.ints) + [1] * int(r.integers(0, 2))
            if ints:
                ints[r.integers(len(ints))] = int(r.choice(HUGE))
            del a.ints[:]
            a.ints.extend(ints)
        elif a.type == AttributeProto.FLOAT:
            a.f = float(r.choice([np.inf, -np.inf, np.nan, -1e30, 0]))
        elif a.type == AttributeProto.STRING:
            a.s = [b"", b"\xff\xfe", b"NOPE", b"x" * 5000][r.integers(4)]


def attribute_count(r, m, n):
    for a in n.attribute:
        if a.type == AttributeProto.INTS:
            if r.random() < 0.5 and a.ints:
                del a.ints[0]
            else:
                a.ints.append(1)
        elif a.type == AttributeProto.FLOATS:
            a.floats.append(1.0)


def attribute_twice(r, m, n):
    if n.attribute:
        n.attribute.append(n.attribute[0])


def tensor(r, m):
    found = list(m.graph.initializer)
    for n in nodes(m):
        found += [a.t for a in n.attribute if a.HasField("t")]
    return found[r.integers(len(found))] if found else None


def tensor_type(r, m, n):
    if t := tensor(r, m):
        t.data_type = int(r.integers(0, 30))


def tensor_bytes(r, m, n):
    if t := tensor(r, m):
        t.raw_data = t.raw_data[:len(t.raw_data) // 2] if r.random() < 0.5 else t.raw_data * 2 + b"\1"


def tensor_dims(r, m, n):
    if t := tensor(r, m):
        if t.dims and r.random() < 0.7:
            t.dims[r.integers(len(t.dims))] = int(r.choice(HUGE))
        else:
            t.dims.append(int(r.choice([1, 2, 2**33])))


def tensor_values(r, m, n):
    if t := tensor(r, m):
        t.raw_data = bytes([int(r.choice([0xff, 0x7f, 0x80, 0]))]) * len(t.raw_data)


def external(r, m, n):
    if t := tensor(r, m):
        t.data_location = TensorProto.EXTERNAL
        del t.external_data[:]
        for k, v in (("location", "../../etc/passwd"), ("offset", "-1"), ("length", "99999999999")):
            t.external_data.add(key=k, value=v)


def input_type(r, m, n):
    if m.graph.input:
        i = m.graph.input[r.integers(len(m.graph.input))]
        i.type.tensor_type.elem_type = int(r.integers(0, 30))


def input_dims(r, m, n):
    if m.graph.input:
        i = m.graph.input[r.integers(len(m.graph.input))]
        dims = i.type.tensor_type.shape.dim
        if dims and r.random() < 0.7:
            dims[r.integers(len(dims))].dim_value = int(r.choice(HUGE))
        else:
            dims.add().dim_param = "n"


def no_shape(r, m, n):
    if m.graph.input:
        m.graph.input[r.integers(len(m.graph.input))].type.tensor_type.ClearField("shape")


def no_type(r, m, n):
    if m.graph.input:
        m.graph.input[r.integers(len(m.graph.input))].ClearField("type")


def sequence_type(r, m, n):
    if m.graph.input:
        i = m.graph.input[r.integers(len(m.graph.input))]
        i.type.CopyFrom(helper.make_sequence_type_proto(helper.make_tensor_type_proto(1, None)))


def opset(r, m, n):
    m.opset_import[0].version = int(r.choice([-1, 0, 1, 5, 6, 9, 12, 17, 28, 99, 2**40]))


def output_name(r, m, n):
    m.graph.output.add().name = str(r.choice(["nobody", "", m.graph.output[0].name]))


def same_name(r, m, n):
    for t in m.graph.initializer:
        t.name = m.graph.input[0].name if m.graph.input else "c"


def inner_graph(r, m, n):
    for a in n.attribute:
        if a.HasField("g"):
            if r.random() < 0.5 and a.g.output:
                del a.g.output[0]
            elif a.g.node:
                del a.g.node[r.integers(len(a.g.node))]


MUTATIONS = [drop_input, empty_input, more_inputs, unknown_input, cycle, swap_inputs, same_output,
             more_outputs, reverse_nodes, other_op, drop_attribute, attribute_type, attribute_value,
             attribute_count, attribute_twice, tensor_type, tensor_bytes, tensor_dims, tensor_values,
             external, input_type, input_dims, no_shape, no_type, sequence_type, opset, output_name,
             same_name, inner_graph]


def broken(seed):
    """(model bytes, inputs, what was done to it)"""
    case = Case(seed)
    r = np.random.default_rng((seed, 3))
    model = case.g.model(list(case.wanted))
    done = []
    for _ in range(int(r.choice([1, 1, 2, 4]))):
        f = MUTATIONS[r.integers(len(MUTATIONS))]
        all_nodes = nodes(model)
        if all_nodes:
            f(r, model, all_nodes[r.integers(len(all_nodes))])
            done.append(f.__name__)
    return model.SerializeToString(), case.g.inputs, done


def attempt(model, inputs):
    """The evaluator, then -O1 code: "ran" or the refusal's id. Any other exception is a mistake."""
    try:
        tenfold.evaluate(model, inputs, name="m.onnx")
        tenfold.compile(model, opt_level=1, threads=1, examples=inputs, name="m.onnx").run(inputs)
        return "ran"
    except tenfold.Error as e:
        assert e.id and str(e), "an error without words"
        return e.id


def attempt_apart(seed):
    """In a process that may die: what came of it."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            model, inputs, _ = broken(seed)
            os.write(write, attempt(model, inputs).encode()[:100])
        except BaseException as e:  # noqa: BLE001
            os.write(write, f"! {e!r}".encode()[:300])
        os._exit(0)
    os.close(write)
    _, status = os.waitpid(pid, 0)
    said = os.read(read, 400).decode(errors="replace")
    os.close(read)
    return f"! died, status {status}" if status else said


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--first", type=int, default=0)
    p.add_argument("--count", type=int, default=1000)
    p.add_argument("--write", type=pathlib.Path)
    a = p.parse_args()
    counts, bad = {}, 0
    for seed in range(a.first, a.first + a.count):
        if a.write:
            (a.write / f"{seed}.onnx").write_bytes(broken(seed)[0])
            continue
        said = attempt_apart(seed)
        if said.startswith("!"):
            bad += 1
            print(f"seed {seed} {broken(seed)[2]}: {said}", flush=True)
        else:
            counts[said] = counts.get(said, 0) + 1
    print(dict(sorted(counts.items(), key=lambda k: -k[1])), f"{bad} findings")


if __name__ == "__main__":
    main()

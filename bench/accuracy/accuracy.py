"""make accuracy: predicted against measured silicon, every row, into docs/accuracy.md.

    accuracy.py TENFOLD [--check] [--only REGEX] [--page FILE] [--chip NAME=FILE] [--jobs N]

Builds each workload of the silicon_*.csv beside this file as a graph, simulates it, and writes predicted,
measured and error by row and by class. --check compares with the thresholds below and fails beyond
them. --chip stands a chip file of one's own in for a chip (ablations)."""

import argparse
import concurrent.futures
import csv
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import edge  # noqa: E402
import ironwood  # noqa: E402
import v1  # noqa: E402
import v6e  # noqa: E402


class Row:
    """One figure. texts() gives programs by their number of steps, or one under None; rows of one
    `key` share their programs."""

    def __init__(self, table, group, name, chip, texts, measured, unit, predict, note="", key=None):
        self.table, self.group, self.name, self.chip = table, group, name, chip
        self.texts, self.measured, self.unit, self.predict = texts, measured, unit, predict
        self.note, self.key = note, key or (table, name)
        self.predicted, self.problem, self.report = None, "", None

    @property
    def error(self):
        """Relative, or in points where the unit is per cent."""
        if self.predicted is None:
            return None
        if self.unit == "%":
            return self.predicted - self.measured
        return 100 * (self.predicted / self.measured - 1)


# What a reader must know about the rows of one chip, above its table.
NOTES = {
    "TPU v1": [
        "The paper never published layer shapes: MLP0 and MLP1 are square layers of the stated",
        "count, weights and batch; **the LSTM and CNN graphs are reconstructed** from layer count,",
        "weights, batch and operations for each weight byte, and the widths and the pools of the CNNs",
        "were adjusted until the accounting fitted: those rows show that such a network exists, they",
        "predict nothing. The wait between dependent operations (`activation_latency`) was read off the",
        "same published stalls.", ""],
    "Edge TPU": [
        "Clock (half the vendor's, as with the standard runtime), host rate and parameter memory of the",
        "chip file were chosen with these rows at hand.", ""],
    "TPU v6e": [
        "The rates of vector memory and of the transcendental unit, and whether weights share the rows'",
        "path into an array, were read off rows of this table; a group that is predicted at about 0 us",
        "was placed on the host, whose own time is not modelled.", ""],
}


def rows_of(name):
    with open(HERE / name, newline="") as f:
        return list(csv.DictReader(f))


def microseconds(reports):
    return reports[None]["microseconds"]


def slope(reports):
    (a, x), (b, y) = sorted(reports.items())
    return (y["microseconds"] - x["microseconds"]) / (b - a)


def v6e_rows(host_us):
    for r in rows_of("silicon_v6e.csv"):
        def texts(r=r):
            built, how = v6e.workload(r)
            return dict(zip(how, built)) if isinstance(how, tuple) else {None: built[0]}
        how = {"slope": slope, "chainC": slope}.get(r["method"], microseconds)
        if r["kind"] in ("flash_prefill", "paged_decode"):
            how = microseconds
        if r["method"] == "wall":
            def how(reports):
                return microseconds(reports) + 2 * host_us
        noise = ""
        if r["p10"] and float(r["p90"]) > 2 * float(r["p10"]):
            noise = "noisy: 80 % of the measurements lie in " + r["p10"] + " to " + r["p90"]
        yield Row("TPU v6e", v6e.class_of(r), f"{r['kind']} {r['shape']}", "v6e", texts,
                  float(r["microseconds"]), "us", how, noise)


def ironwood_rows():
    for r in rows_of("silicon_ironwood.csv"):
        if ironwood.workload(r) is None:
            continue
        value = float(r["value"])
        if r["kind"] == "hbm_copy":
            mib = int(r["shape"].removesuffix("MiB"))
            def how(reports, mib=mib):
                return 2 * mib * 2**20 / microseconds(reports) / 1e3
            group = "copy, 16 MiB and more" if mib >= 16 else "copy, small"
            yield Row("TPU 7x", group, f"copy {r['shape']}", "7x",
                      lambda r=r: {None: ironwood.workload(r)}, value, "GB/s", how)
        else:
            yield Row("TPU 7x", "matmul", f"matmul {r['shape']}", "7x",
                      lambda r=r: {None: ironwood.workload(r)}, value, "us", microseconds)


V1_ACCOUNTS = {
    "array_active_pct": ("array active", lambda c, u, r: u["compute"]),
    "weight_stall_pct": ("weight stall", lambda c, u, r: u["weight_load"]),
    "weight_shift_pct": ("weight shift", lambda c, u, r: u["weight_shift"]),
    "non_matrix_pct": ("non-matrix", lambda c, u, r: c - u["compute"] - u["weight_load"] -
                       u["weight_shift"]),
    "useful_macs_pct": ("useful MACs", lambda c, u, r: r["mxu_useful_share"] * u["compute"]),
    "unused_macs_pct": ("unused MACs", lambda c, u, r: (1 - r["mxu_useful_share"]) * u["compute"]),
}


def v1_rows():
    table = {r["quantity"]: r for r in rows_of("silicon_v1.csv")}
    for model, build in v1.MODELS.items():
        group = "MLP" if model.startswith("MLP") else "LSTM and CNN, reconstructed"
        def texts(build=build):
            return {None: build()}
        for key, (name, part) in V1_ACCOUNTS.items():
            def share(reports, part=part):
                r = reports[None]
                return 100 * part(r["cycles"], r["units"]["mxu"], r) / r["cycles"]
            yield Row("TPU v1", group, f"{model} {name}", "v1", texts, float(table[key][model]), "%",
                      share, key=model)
        def tops(reports):
            r = reports[None]
            useful = r["mxu_useful_share"] * r["units"]["mxu"]["compute"] * 256 * 256
            return 2 * useful / r["microseconds"] / 1e6
        yield Row("TPU v1", group + ", TOPS", f"{model} TOPS", "v1", texts,
                  float(table["measured_tops"][model]), "TOPS", tops, key=model)


def edge_rows():
    for r in rows_of("silicon_edge.csv"):
        build = edge.MODELS.get(r["model"])
        if not build:
            continue
        def milliseconds(reports):
            return microseconds(reports) / 1e3
        impossible = edge.IMPOSSIBLE.get(r["model"], "")
        yield Row("Edge TPU", "not of the published architecture" if impossible else "inference",
                  r["model"], "edge", lambda build=build: {None: build()}, float(r["usb3_ms"]), "ms",
                  milliseconds, impossible)


def all_rows(tenfold, chips):
    printed = subprocess.run([tenfold, "targets", "--chip", chips.get("v6e", "v6e")],
                             capture_output=True, text=True, check=True).stdout
    host_us = json.loads(printed)["host_latency_us"]["value"]
    return [*v1_rows(), *edge_rows(), *v6e_rows(host_us), *ironwood_rows()]


# (table, class): (largest median, largest 90th percentile, largest of all) in per cent or points.
THRESHOLDS = {
    ("TPU v1", "MLP"): (None, None, 8),
    ("TPU v1", "MLP, TOPS"): (None, None, 15),
    ("TPU v1", "LSTM and CNN, reconstructed"): (None, None, 15),
    ("Edge TPU", "inference"): (20, None, 50),
    ("TPU v6e", "matmul"): (8, 18, None),
    ("TPU v6e", "HBM stream"): (None, None, 5),
}


LIMIT_SECONDS = 40


def simulate(tenfold, chips, row):
    reports = {}
    with tempfile.TemporaryDirectory() as folder:
        for steps, text in row.texts().items():
            path = pathlib.Path(folder) / "model.mlir"
            path.write_text(text)
            target = "tpu:" + chips.get(row.chip, row.chip)
            try:
                run = subprocess.run([tenfold, "simulate", str(path), "--target", target,
                                      "--timing-only", "--mode", "tile", "--no-advice", "--json"],
                                     capture_output=True, text=True, timeout=LIMIT_SECONDS)
            except subprocess.TimeoutExpired:
                raise RuntimeError(f"gave no answer within {LIMIT_SECONDS} s") from None
            if run.returncode != 0:
                raise RuntimeError(run.stderr.strip().splitlines()[-1] if run.stderr else
                                   f"exit code {run.returncode}")
            reports[steps] = json.loads(run.stdout)
    return reports


def predict(tenfold, chips, rows, jobs):
    shared = {}
    for row in rows:
        shared.setdefault(row.key, []).append(row)

    def work(group):
        try:
            reports = simulate(tenfold, chips, group[0])
            for row in group:
                row.report = reports
                row.predicted = row.predict(reports)
        except (RuntimeError, json.JSONDecodeError, KeyError, ZeroDivisionError) as e:
            for row in group:
                row.problem = str(e) or type(e).__name__
        print(".", end="", file=sys.stderr, flush=True)

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        list(pool.map(work, shared.values()))
    print(file=sys.stderr)


def percentile(values, share):
    values = sorted(values)
    at = share * (len(values) - 1)
    low = int(at)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (at - low)


def summary(rows):
    groups = {}
    for row in rows:
        groups.setdefault((row.table, row.group), []).append(row)
    out = []
    for key, members in groups.items():
        errors = [abs(r.error) for r in members if r.error is not None]
        out.append((key, len(members), len(errors), errors))
    return out


def number(x):
    return f"{x:.3g}" if abs(x) < 100 else f"{x:.0f}"


def causes(row):
    """What the longest-working units of a row's (largest) program did."""
    report = row.report[max(row.report, key=lambda k: k or 0)]
    cycles = report["cycles"]
    parts = []
    for unit, by in report["units"].items():
        work = by.get("compute", 0) / cycles
        if work >= 0.2:
            parts.append((work, f"{unit} {100 * work:.0f} %"))
    main = max(report["units"].items(), key=lambda u: u[1].get("compute", 0))
    waits = sorted(((n, c) for c, n in main[1].items() if c != "compute" and n), reverse=True)[:2]
    waits = ", ".join(f"{c} {100 * n / cycles:.0f} %" for n, c in waits)
    busy = ", ".join(p for _, p in sorted(parts, reverse=True))
    return f"busy: {busy or 'none above 20 %'}; {main[0]} waits: {waits or 'never'}"


def page(rows):
    lines = [
        "# Accuracy on silicon", "",
        "Predicted by `tenfold simulate`, measured by others: `make accuracy` writes this page, from the",
        "rows of `bench/accuracy/silicon_*.csv` (sources there and in [the simulator's page](tpu.md)).",
        "Errors are relative; of v1's cycle accounting, in points. No constant belongs to a row or a",
        "class: a chip's file (`src/tpu/chips`) holds all of them.", "",
        "| chip | class | rows | median | 90th percentile | worst | held to |", "|---|---|---|---|---|---|---|",
    ]
    for (table, group), total, done, errors in summary(rows):
        unit = " points" if table == "TPU v1" and "TOPS" not in group else " %"
        limits = THRESHOLDS.get((table, group), (None,) * 3)
        held = ", ".join(f"{n} {v}" for n, v in zip(("median", "p90", "worst"), limits) if v is not None)
        figures = [f"{v:.1f}{unit}" for v in (statistics.median(errors), percentile(errors, 0.9),
                                              max(errors))] if errors else ["-"] * 3
        count = str(total) if done == total else f"{done} of {total}"
        lines.append(f"| {table} | {group} | {count} | " + " | ".join(figures) + f" | {held or '-'} |")
    lines += ["", "## The worst rows, and what their time went into", "",
              "| chip | row | predicted | measured | error | |", "|---|---|---|---|---|---|"]
    known = [r for r in rows if r.error is not None]
    for row in sorted(known, key=lambda r: -abs(r.error))[:12]:
        unit = " points" if row.unit == "%" else " %"
        why = "; ".join(x for x in (causes(row), row.note) if x)
        lines.append(f"| {row.table} | {row.name} | {number(row.predicted)} | {number(row.measured)} "
                     f"{row.unit} | {row.error:+.0f}{unit} | {why} |")
    for table in dict.fromkeys(r.table for r in rows):
        lines += ["", f"## {table}", ""]
        lines += NOTES.get(table, [])
        lines += ["| class | row | predicted | measured | error |", "|---|---|---|---|---|"]
        for row in (r for r in rows if r.table == table):
            unit = " points" if row.unit == "%" else " %"
            if row.error is None:
                cells = f"- | {number(row.measured)} {row.unit} | {row.problem}"
            else:
                cells = (f"{number(row.predicted)} | {number(row.measured)} {row.unit} | "
                         f"{row.error:+.1f}{unit}")
            lines.append(f"| {row.group} | {row.name}{' (noisy)' if row.note.startswith('noisy') else ''} "
                         f"| {cells} |")
        if table == "Edge TPU":
            lines += ["", "Not built: " + "; ".join(f"{k} ({v})" for k, v in edge.MISSING.items()) + ".",
                      ""] + [f"{k}: {v}." for k, v in edge.IMPOSSIBLE.items()]
    return "\n".join(lines) + "\n"


def beyond(rows):
    """Thresholds that are not kept, in words."""
    found = []
    for (table, group), total, done, errors in summary(rows):
        limits = THRESHOLDS.get((table, group))
        if not limits:
            continue
        if done < total:
            found.append(f"{table}, {group}: {total - done} of {total} rows gave no figure")
        if not errors:
            continue
        figures = (statistics.median(errors), percentile(errors, 0.9), max(errors))
        for name, value, limit in zip(("median", "90th percentile", "worst"), figures, limits):
            if limit is not None and value > limit:
                found.append(f"{table}, {group}: {name} {value:.1f}, held to {limit}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tenfold")
    parser.add_argument("--check", action="store_true", help="fail beyond the thresholds")
    parser.add_argument("--only", default="", help="rows whose chip, class and name match")
    parser.add_argument("--page", help="write the page here")
    parser.add_argument("--chip", action="append", default=[], help="NAME=FILE")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    chips = dict(c.split("=", 1) for c in args.chip)

    rows = all_rows(args.tenfold, chips)
    rows = [r for r in rows if re.search(args.only, f"{r.table} {r.group} {r.name}")]
    predict(args.tenfold, chips, rows, args.jobs)
    text = page(rows)
    if args.page:
        pathlib.Path(args.page).write_text(text)
    else:
        print(text)
    problems = beyond(rows)
    for p in problems:
        print(p, file=sys.stderr)
    return 1 if args.check and problems else 0


if __name__ == "__main__":
    sys.exit(main())

"""What the errors become when one mechanism of the chips is switched off: the table of docs/tpu.md.

    ablations.py TENFOLD [--page docs/tpu.md] [--only REGEX] [--jobs N]

A mechanism is switched off in the chip files, for all chips and rows at once."""

import argparse
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

import accuracy

CHIPS = ("v1", "edge", "v6e", "7x")
# What is changed in a chip's file: field -> value; fields that a chip lacks are left alone.
ABLATIONS = {
    "nothing": {},
    "one set of weights in an array": {"mxu_weight_sets": 1, "weight_fifo_tiles": 1},
    "no limits of slots": {f"{s}_slots": 8 for s in ("scalar", "valu", "vload", "vstore", "eup", "xlu",
                                                     "mxu_push", "mxu_pop", "misc")},
    "no limit of vector memory's ports": {"vmem_ports": 16},
    "copies at the peak, at once": {"hbm_efficiency": 1, "dma_latency_ns": 0, "dma_granule_bytes": 1,
                                    "host_latency_us": 0},
    "no padding of the array": None,
    "no wait between dependent operations": {"activation_latency": 0, "mxu_latency": 0},
}


def variant(tenfold, chip, changes, folder):
    text = subprocess.run([tenfold, "targets", "--chip", chip], capture_output=True, text=True,
                          check=True).stdout
    fields = json.loads(text)
    for key, value in changes.items():
        if key in fields:
            fields[key]["value"] = value
    path = pathlib.Path(folder) / f"{chip}.json"
    path.write_text(json.dumps(fields))
    return str(path)


def without_padding(row):
    """The row's figure as if the array had spent time on useful products alone."""
    if row.predicted is None or row.unit in ("%", "GB/s", "TOPS"):
        return
    reports = {}
    for steps, r in row.report.items():
        array = r["units"]["mxu"].get("compute", 0) / r["cycles"]
        reports[steps] = dict(r, microseconds=r["microseconds"] *
                              (1 - array * (1 - r["mxu_useful_share"])))
    row.predicted = row.predict(reports)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tenfold")
    parser.add_argument("--page")
    parser.add_argument("--only", default="TPU v1 MLP|Edge TPU inference|v6e matmul mm|v6e elementwise|7x")
    parser.add_argument("--jobs", type=int, default=2)
    args = parser.parse_args()
    table, groups = {}, []
    for name, changes in ABLATIONS.items():
        with tempfile.TemporaryDirectory() as folder:
            chips = {c: variant(args.tenfold, c, changes or {}, folder) for c in CHIPS}
            rows = accuracy.all_rows(args.tenfold, chips)
            rows = [r for r in rows if re.search(args.only, f"{r.table} {r.group} {r.name}")]
            accuracy.predict(args.tenfold, chips, rows, args.jobs)
        if changes is None:
            for row in rows:
                without_padding(row)
        for (chip, group), _, _, errors in accuracy.summary(rows):
            if (chip, group) not in groups:
                groups.append((chip, group))
            table[name, chip, group] = statistics.median(errors) if errors else None
    head = ["switched off"] + [f"{chip} {group}" for chip, group in groups]
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    for name in ABLATIONS:
        cells = [name]
        for chip, group in groups:
            value = table.get((name, chip, group))
            cells.append("-" if value is None else f"{value:.1f}")
        lines.append("| " + " | ".join(cells) + " |")
    text = "\n".join(lines)
    if args.page:
        page = pathlib.Path(args.page)
        old = page.read_text()
        new = re.sub(r"(<!-- ablations -->\n).*?(<!-- /ablations -->)",
                     lambda m: m[1] + text + "\n" + m[2], old, flags=re.S)
        page.write_text(new)
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())

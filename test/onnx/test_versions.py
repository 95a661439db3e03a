"""The converters list every op of the installed onnx package, at every opset that redefined it."""
import collections
import pathlib
import re

from onnx import defs

OPS = pathlib.Path(__file__).parents[2] / "src/frontends/onnx/ops"


def test_every_op_and_version_of_the_standard_is_listed():
    have = {}
    for path in OPS.glob("*.cc"):
        text = path.read_text()
        domain = re.search(r'\.domain = "([^"]*)"', text)
        for op, versions in re.findall(r'\{"(\w+)",\s*\{([\d,\s]+)\}\}', text):
            have[domain[1] if domain else "", op] = {int(v) for v in versions.split(",")}
    want = collections.defaultdict(set)
    for schema in defs.get_all_schemas_with_history():
        want[schema.domain, schema.name].add(schema.since_version)
    assert {k: v for k, v in want.items() if have.get(k) != v} == {}

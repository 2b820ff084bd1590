"""Writes src/lyceum/documents.py from the description of the REST API: python3 clients/python/generate.py

Building a wheel does it too (hatch_build.py), so the file is in no commit.
"""

import json
import keyword
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
# In the repository, and in a source distribution.
DESCRIPTIONS = [HERE / "../../server/tests/api/openapi.json", HERE / "openapi.json"]
WRITTEN = HERE / "src/lyceum/documents.py"
HEAD = '''"""The documents that the REST API takes and returns. Written by generate.py; do not edit."""

from __future__ import annotations

from typing import Any, Literal, NotRequired, TypedDict
'''
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


def type_of(schema: dict[str, Any]) -> str:
    """The Python type of a schema."""
    if "$ref" in schema:
        return str(schema["$ref"]).rsplit("/", 1)[1]
    if "enum" in schema:
        return f"Literal[{', '.join(json.dumps(value) for value in schema['enum'])}]"
    for choice in ("oneOf", "anyOf"):
        if choice in schema:
            return " | ".join(dict.fromkeys(type_of(one) for one in schema[choice]))
    kinds = schema.get("type", [])
    kinds = kinds if isinstance(kinds, list) else [kinds]
    return " | ".join(plain_type(kind, schema) for kind in kinds) or "Any"


def plain_type(kind: str, schema: dict[str, Any]) -> str:
    if kind == "array":
        return f"list[{type_of(schema.get('items', {}))}]"
    if kind == "object":
        values = schema.get("additionalProperties")
        return f"dict[str, {type_of(values) if isinstance(values, dict) else 'Any'}]"
    return PLAIN[kind]


def documentation(text: str, indent: str) -> str:
    text = " ".join(text.split()).replace("\\", "\\\\").replace('"""', "'''")
    return f'{indent}"""{text}"""\n' if text else ""


def definition(name: str, schema: dict[str, Any]) -> str:
    """A class for an object, a name for anything else."""
    parts = schema.get("allOf", [schema])
    bases = [type_of(part) for part in parts if "$ref" in part]
    objects = [part for part in parts if "properties" in part]
    if not objects:
        return f"\n{name} = {type_of(schema)}\n{documentation(schema.get('description', ''), '')}"
    words = {
        field: type_of(value)
        for part in objects
        for field, value in part["properties"].items()
        if keyword.iskeyword(field)
    }
    written = ""
    if words:
        # A class cannot have a field that is a word of Python.
        written = f"\n\n_{name} = TypedDict({json.dumps('_' + name)}, {json.dumps(words)})\n"
        bases.insert(0, f"_{name}")
    written += f"\n\nclass {name}({', '.join(bases) or 'TypedDict'}):\n"
    written += documentation(schema.get("description", ""), "    ")
    for part in objects:
        for field, value in part["properties"].items():
            if field in words:
                continue
            kind = type_of(value)
            kind = kind if field in part.get("required", []) else f"NotRequired[{kind}]"
            written += f"\n    {field}: {kind}\n{documentation(value.get('description', ''), '    ')}"
    return written


def generated() -> str:
    """The module. Pages are left out: the client reads lists to their end."""
    description = next(path for path in DESCRIPTIONS if path.exists())
    schemas = json.loads(description.read_text())["components"]["schemas"]
    kept = {name: schema for name, schema in schemas.items() if not name.startswith("Page_")}
    ordered = sorted(kept, key=lambda name: (ancestors(name, kept), name))
    return HEAD + "".join(definition(name, kept[name]) for name in ordered)


def ancestors(name: str, schemas: dict[str, Any]) -> int:
    """How many classes it extends, one after the other: a class must stand after those."""
    bases = [type_of(part) for part in schemas[name].get("allOf", []) if "$ref" in part]
    return max((1 + ancestors(base, schemas) for base in bases), default=0)


def main() -> None:
    WRITTEN.write_text(generated())


if __name__ == "__main__":
    main()

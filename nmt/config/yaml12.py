"""YAML 1.2 for settings: text flows in, values flow out, and back.

PyYAML reads YAML 1.1, where `no`, the code of Norwegian, is false, 010 is 8, and 1e-3 is a text.
"""

import math
import re
from functools import cache
from typing import Any

# What is no text, and its first characters (YAML 1.2.2, section 10.3: the core schema).
YAML_TYPES = {
    "bool": ("true|True|TRUE|false|False|FALSE", "tTfF"),
    "int": ("[-+]?[0-9]+", "-+0123456789"),
    "float": (
        r"[-+]?(?:\.[0-9]+|[0-9]+\.?[0-9]*)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)",
        "-+.0123456789",
    ),
    "null": ("~|null|Null|NULL|", ("~", "n", "N", "")),
}

UNUSUAL_BREAK = re.compile("[\x85\u2028\u2029]")


@cache
def yaml_classes() -> tuple[Any, Any]:
    """A loader and a dumper for YAML_TYPES: the loader is safe, and the dumper puts quotes around other text."""
    import yaml

    def compose_node(reader: Any, parent: Any, index: Any) -> Any:
        if reader.check_event(yaml.AliasEvent):
            raise yaml.MarkedYAMLError(problem="an alias is not read", problem_mark=reader.peek_event().start_mark)
        return yaml.SafeLoader.compose_node(reader, parent, index)

    def compose_mapping_node(reader: Any, anchor: Any) -> Any:
        node, names = yaml.SafeLoader.compose_mapping_node(reader, anchor), set[str]()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            if key.value in names:
                raise yaml.MarkedYAMLError(problem=f"{key.value!r} is there twice", problem_mark=key.start_mark)
            names.add(key.value)
        return node

    composers = {"compose_node": compose_node, "compose_mapping_node": compose_mapping_node}
    changes: dict[str, Any] = {"yaml_implicit_resolvers": {}, **composers}
    loader: Any = type("Loader", (yaml.SafeLoader,), changes)
    dumper: Any = type("Dumper", (yaml.SafeDumper,), {})
    for name, (pattern, first) in YAML_TYPES.items():
        for kind in (loader, dumper):
            kind.add_implicit_resolver(f"tag:yaml.org,2002:{name}", re.compile(f"(?:{pattern})\\Z"), list(first))

    def represent(writer: Any, text: str) -> Any:
        style = '"' if UNUSUAL_BREAK.search(text) else None  # else the break becomes a blank
        return writer.represent_scalar("tag:yaml.org,2002:str", text, style=style)

    dumper.add_representer(str, represent)
    loader.add_constructor("tag:yaml.org,2002:int", lambda reader, node: int(reader.construct_scalar(node)))
    return loader, dumper


def read_yaml(text: str) -> Any:
    """A value of YAML 1.2. ValueError, in one line, if the text is not valid, has a key twice, or an alias (*name):
    with aliases, a short text can stand for a value without end."""
    import yaml

    try:
        return yaml.load(text, Loader=yaml_classes()[0])  # a subclass of SafeLoader
    except (yaml.YAMLError, RecursionError, LookupError, AttributeError) as error:  # the last two: of `!!bool x`
        raise ValueError(" ".join(str(error).split())) from error


def write_yaml(value: Any, *, flow: bool = False) -> str:
    """A value as YAML, for `read_yaml` and for readers of YAML 1.1; `flow`: in one line."""
    import yaml

    style = {"default_flow_style": True, "width": math.inf} if flow else {}
    return str(yaml.dump(value, Dumper=yaml_classes()[1], sort_keys=False, allow_unicode=True, **style))

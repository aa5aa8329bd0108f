# SPDX-License-Identifier: Apache-2.0
"""SQL expressions as trees of calls for build/tests/sql_eval: DuckDB parses, this module renames."""

import json

_COMPARISONS = {
    "COMPARE_EQUAL": "=",
    "COMPARE_NOTEQUAL": "<>",
    "COMPARE_LESSTHAN": "<",
    "COMPARE_LESSTHANOREQUALTO": "<=",
    "COMPARE_GREATERTHAN": ">",
    "COMPARE_GREATERTHANOREQUALTO": ">=",
    "COMPARE_DISTINCT_FROM": "is distinct from",
    "COMPARE_NOT_DISTINCT_FROM": "is not distinct from",
    "COMPARE_IN": "in",
    "COMPARE_NOT_IN": "not in",
    "OPERATOR_NOT": "not",
    "OPERATOR_IS_NULL": "isnull",
    "OPERATOR_IS_NOT_NULL": "isnotnull",
    "OPERATOR_COALESCE": "coalesce",
    "ARRAY_EXTRACT": "array_extract",
    "STRUCT_EXTRACT": "struct_extract",
    "CONJUNCTION_AND": "and",
    "CONJUNCTION_OR": "or",
}
_TYPES = {
    "INTEGER": "int",
    "BIGINT": "bigint",
    "FLOAT": "float",
    "DOUBLE": "double",
    "BOOLEAN": "boolean",
    "VARCHAR": "string",
    "BLOB": "binary",
    "DATE": "date",
    "TIMESTAMP": "timestamp_ntz",
    "TIMESTAMP WITH TIME ZONE": "timestamp",
    "TIME": "time",
    "UUID": "uuid",
}
AGGREGATES = {
    "count", "count_star", "count_if", "sum", "min", "max", "avg", "mean", "bool_and", "bool_or", "every",
    "approx_count_distinct",
}  # fmt: skip


def trees(connection, expressions):
    found = []
    for expression in expressions:
        text = connection.execute("SELECT json_serialize_sql($1)", ["SELECT " + expression]).fetchone()[0]
        answer = json.loads(text)
        if answer.get("error"):
            raise ValueError(f"{expression}: {answer.get('error_message')}")
        (item,) = answer["statements"][0]["node"]["select_list"]
        found.append(_tree(item))
    return found


def _ddl(cast):
    name, info = cast["id"], cast.get("type_info") or {}
    if name == "DECIMAL":
        return f"decimal({info.get('width', 18)},{info.get('scale', 3)})"
    if name == "LIST":
        return f"array<{_ddl(info['child_type'])}>"
    if name == "MAP":
        pair = {c["first"]: c["second"] for c in info["child_type"]["type_info"]["child_types"]}
        return f"map<{_ddl(pair['key'])},{_ddl(pair['value'])}>"
    if name == "STRUCT":
        return "struct<" + ",".join(f"{c['first']}:{_ddl(c['second'])}" for c in info["child_types"]) + ">"
    return _TYPES[name]


def _call(name, arguments):
    return {"f": name, "a": [_tree(a) for a in arguments]}


def _constant(value):
    if value["is_null"]:
        return {"null": True}
    kind, content = value["type"]["id"], value["value"]
    if kind == "VARCHAR":
        return {"constant": "string", "sql": "'" + content.replace("'", "''") + "'", "text": content}
    if kind == "BOOLEAN":
        return {"constant": "boolean", "sql": "true" if content else "false"}
    if kind == "DECIMAL":
        info = value["type"]["type_info"]
        digits = str(abs(int(content))).rjust(info["scale"] + 1, "0")
        whole, fraction = digits[: len(digits) - info["scale"]], digits[len(digits) - info["scale"] :]
        text = ("-" if int(content) < 0 else "") + whole + ("." + fraction if fraction else "")
        precision = max(len(whole.lstrip("0") + fraction), info["scale"])
        return {"constant": f"decimal({precision},{info['scale']})", "text": text,
                "sql": f"CAST('{text}' AS DECIMAL({precision},{info['scale']}))"}  # fmt: skip
    if kind == "DOUBLE":
        return {"constant": "double", "sql": f"CAST('{content}' AS DOUBLE)", "text": str(content)}
    duck = {"int": "INTEGER", "bigint": "BIGINT"}[_TYPES[kind]]
    return {"constant": _TYPES[kind], "sql": f"CAST({content} AS {duck})", "text": str(content)}


def _cast(node):
    child = node["child"]
    literal = child["class"] == "CONSTANT" and child["value"].get("type", {}).get("id") == "VARCHAR"
    if node["cast_type"]["id"] == "INTERVAL":
        return _call("interval", [child])
    if node["cast_type"]["id"] == "TIMESTAMP" and literal:
        return {"cast": "timestamp", "try": False, "a": [_tree(child)]}
    return {"cast": _ddl(node["cast_type"]), "try": bool(node.get("try_cast")), "a": [_tree(child)]}


def _function(node):
    name, children = node["function_name"].lower(), node["children"]
    if name in AGGREGATES:
        return {"aggregate": name, "a": [_tree(c) for c in children]}
    if name == "struct_pack":
        pairs = []
        for child in children:
            alias = child["alias"]
            pairs += [{"constant": "string", "sql": f"'{alias}'", "text": alias}, _tree(child)]
        return {"f": name, "a": pairs}
    return _call(name, children)


def _tree(node):
    kind = node["class"]
    if kind == "CONSTANT":
        return _constant(node["value"])
    if kind == "COLUMN_REF":
        name = node["column_names"]
        if name[0].lower() in ("current_timestamp", "current_date"):
            return _call(name[0].lower(), [])
        tree = {"column": name[0]}
        for field in name[1:]:
            tree = {"f": "struct_extract", "a": [tree, {"constant": "string", "sql": f"'{field}'", "text": field}]}
        return tree
    if kind == "FUNCTION":
        return _function(node)
    if kind == "CAST":
        return _cast(node)
    if kind == "COMPARISON":
        return _call(_COMPARISONS[node["type"]], [node["left"], node["right"]])
    if kind in ("OPERATOR", "CONJUNCTION"):
        return _call(_COMPARISONS[node["type"]], node["children"])
    if kind == "BETWEEN":
        return _call("between", [node["input"], node["lower"], node["upper"]])
    if kind == "CASE":
        parts = []
        for check in node["case_checks"]:
            parts += [check["when_expr"], check["then_expr"]]
        return _call("case", parts + [node["else_expr"]])
    raise ValueError(f"{kind} is not known here")

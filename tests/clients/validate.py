"""Checks a report against a schema: validate.py json|xml REPORT SCHEMA. Prints what is wrong; the exit code is 1 then."""

import json
import sys


def main(kind, report, schema):
    wrong = list(of_json(report, schema) if kind == "json" else of_xml(report, schema))
    for error in wrong[:10]:
        print(error)
    sys.exit(1 if wrong else 0)


def of_json(report, schema):
    import jsonschema

    with open(schema, encoding="utf-8-sig") as text:
        schema = json.load(text)
    with open(report, encoding="utf-8") as text:
        report = json.load(text)
    kind = jsonschema.validators.validator_for(schema)
    kind.check_schema(schema)
    for error in kind(schema, format_checker=kind.FORMAT_CHECKER).iter_errors(report):
        yield f"{error.json_path}: {error.message[:300]}"


def of_xml(report, schema):
    import xmlschema

    for error in xmlschema.XMLSchema(schema).iter_errors(report):
        yield f"{error.path}: {error.reason}"


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Runs the recipes of docs/tables.md: query_tables.py DIR, with the tables that they read in DIR.

The tables are those of the traces that `write_shop` in xtask/src/verify/samples.rs describes. A recipe that fails, or returns other
rows than those that follow from the traces, fails the program.
"""

import contextlib
import io
import json
import os
import re
import sys


TEST = "com.shop.ShopTest.pays"
SHOP = {name: f"com.shop.{name}()" for name in ("ShopTest.pays", "ShopTest.fails", "Orders.total", "Price.get", "Cache.miss")}
PAYS, FAILS, TOTAL, GET, MISS = SHOP.values()

SECONDS = [(TOTAL, 3, 1.35), (GET, 5, 0.75), (PAYS, 2, 0.6), (FAILS, 1, 0.3), (MISS, 1, 0.15)]

# What the recipes for each engine return, by a part of their text. Rows in any order; a shape is any name. Of what pandas
# and Spark print, these are the name and the last number of each line.
ANSWERS = {
    "DuckDB": {
        "sum(end_ns - start_ns) / 1e6 as ms": [(GET, 3, 450.0), (TOTAL, 2, 1200.0), (PAYS, 1, 1050.0), (FAILS, 1, 750.0)],
        "t.end_ns - t.start_ns > 1e9": [(TEST, GET, 2), (TEST, TOTAL, 1), (TEST, PAYS, 1)],
        "thrown is not null": [("alpha", "java.lang.IllegalStateException", 2)],
        "sum(self) / 1e9 as seconds": [(name, "ns", calls, seconds) for name, calls, seconds in SECONDS],
        "create temp table new as": [(MISS, 1, "SHAPE")],
        "group by commit": [("alpha", 1, 2.0), ("beta", 1, 1.0)],
        "from alone": [(TEST, "beta", 3), (TEST, "alpha", 2)],
    },
    "ClickHouse": {
        "count() as calls": [(GET, 3), (TOTAL, 2), (PAYS, 1), (FAILS, 1)],
        "sum(self) / 1e9 as seconds": SECONDS,
        "new as (": [(MISS, 1, "SHAPE")],
        "group by commit": [("alpha", 1, 2.0), ("beta", 1, 1.0)],
    },
    "pandas": {
        'rename("ms")': [(GET, 450), (TOTAL, 1200), (PAYS, 1050), (FAILS, 750)],
    },
    "Spark": {
        'groupBy("method")': [(GET, 3), (TOTAL, 2), (PAYS, 1), (FAILS, 1)],
        'sum("self")': [(name, round(seconds * 1e9)) for name, calls, seconds in SECONDS],
        'groupBy("shape")': [("SHAPE", 2)] + 8 * [("SHAPE", 1)],
    },
}


def expect(engine, code, rows):
    """Fails if the rows are not the answer that is known."""
    answers = [answer for part, answer in ANSWERS[engine].items() if part in code]
    if len(answers) != 1:
        sys.exit(f"{engine}: {len(answers)} answers known: {code}")
    is_shape = lambda cell: isinstance(cell, str) and re.fullmatch("[0-9a-f]{32}", cell)
    found = sorted(tuple("SHAPE" if is_shape(cell) else cell for cell in row) for row in rows)
    expected = sorted(answers[0])
    if found != expected:
        sys.exit(f"{engine}: {found} instead of {expected}: {code}")


def recipes(text):
    """Yields the heading above each block of code, and the block."""
    heading = ""
    for match in re.finditer(r"^###? ([^\n]*)$|^```(sql|python)\n(.*?)^```$", text, re.M | re.S):
        if match[1]:
            heading = match[1]
        else:
            yield heading, match[3]


def duckdb_rows(sql):
    import duckdb

    with duckdb.connect() as connection:
        rows = []
        for statement in filter(str.strip, sql.split(";")):
            rows = connection.execute(statement).fetchall()
        return rows


def clickhouse_rows(sql):
    import chdb

    lines = str(chdb.query(sql.strip().rstrip(";"), "JSONCompactEachRow")).splitlines()
    # It writes large integers as text.
    return [tuple(int(cell) if str(cell).isdigit() else cell for cell in json.loads(line)) for line in lines]


def printed_rows(code, names):
    """The name and the last number of each line of a table that the code prints."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, names)
    lines = re.findall(r"(com\.[^\s|]+|\b[0-9a-f]{32}\b).*?([\d.]+)\W*$", printed.getvalue(), re.M)
    return [(name, float(number)) for name, number in lines]


def spark():
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    session.getOrCreate().sparkContext.setLogLevel("ERROR")
    return session.getOrCreate()


ENGINES = {
    "DuckDB": duckdb_rows,
    "ClickHouse": clickhouse_rows,
    "pandas": lambda code: printed_rows(code, {}),
    "Spark": lambda code: printed_rows(code, {"spark": spark()}),
}


def main(directory):
    text = open(os.path.join(os.path.dirname(__file__), "../../docs/tables.md")).read()
    os.chdir(directory)
    tried = dict.fromkeys(ENGINES, 0)
    for heading, code in recipes(text):
        engine = heading.split()[0]
        rows = ENGINES[engine](code)
        expect(engine, code, rows)
        first = code.strip().splitlines()[0]
        print(f"{engine}: {len(rows)} rows: {first}")
        tried[engine] += 1
    if tried != {engine: len(answers) for engine, answers in ANSWERS.items()}:
        sys.exit(f"recipes: {tried}")


main(sys.argv[1])

"""Runs the recipes of docs/tables.md: query_tables.py DIR, with the tables that they read in DIR.

Prints how many rows each recipe returns. A recipe that fails, or returns none, fails the program.
"""

import os
import re
import sys


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
        rows = connection.sql("select 0 where false").fetchall()
        for statement in filter(str.strip, sql.split(";")):
            rows = connection.execute(statement).fetchall()
        return len(rows)


def clickhouse_rows(sql):
    import chdb

    return len(str(chdb.query(sql.strip().rstrip(";"), "CSV")).splitlines())


def python_rows(code, names):
    """What the code prints, without the frame of a table."""
    import contextlib
    import io

    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, names)
    return sum(bool(re.search(r"\w", line)) for line in printed.getvalue().splitlines()) - 1


def spark():
    from pyspark.sql import SparkSession

    session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    session.getOrCreate().sparkContext.setLogLevel("ERROR")
    return session.getOrCreate()


def main(directory):
    text = open(os.path.join(os.path.dirname(__file__), "../../docs/tables.md")).read()
    os.chdir(directory)
    # Recipes for what these tables may not have.
    may_be_empty = {"t.end_ns - t.start_ns > 1e9", "thrown is not null", "'%Orders'", "from alone"}
    count = 0
    for heading, code in recipes(text):
        engine = heading.split()[0]
        rows = {
            "DuckDB": duckdb_rows,
            "ClickHouse": clickhouse_rows,
            "pandas": lambda code: python_rows(code, {}),
            "Spark": lambda code: python_rows(code, {"spark": spark()}),
        }[engine](code)
        first = code.strip().splitlines()[0]
        print(f"{engine}: {rows} rows: {first}")
        if rows < 1 and not any(part in code for part in may_be_empty):
            sys.exit(f"no rows: {code}")
        count += 1
    if count < 10:
        sys.exit(f"only {count} recipes found")


main(sys.argv[1])

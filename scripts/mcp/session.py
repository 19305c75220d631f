"""A session with flow mcp, by the Python SDK of the protocol: session.py FLOW FOLDER MODE.

FOLDER has a trace, flow-trace, with calls of a.B.work. MODE is how the SDK begins: legacy, auto, or a version.
"""

import asyncio
import sys

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters

FLOW, FOLDER, MODE = sys.argv[1:]


async def session():
    server = StdioServerParameters(command=FLOW, args=["mcp"], cwd=FOLDER)
    async with Client(server, mode=MODE) as client:
        tools = (await client.list_tools()).tools
        names = [tool.name for tool in tools]
        assert "recordings" in names and "calls" in names, names
        for tool in tools:
            # What a model sees of a tool.
            assert tool.description and tool.input_schema["type"] == "object", tool
            assert tool.input_schema["additionalProperties"] is False, tool

        async def text(tool, **arguments):
            result = await client.call_tool(tool, arguments)
            return result.is_error, result.content[0].text

        is_error, answer = await text("report", by="calls")
        assert not is_error and "a.B.work(int, List)" in answer, answer
        is_error, answer = await text("calls", method="B#work", max=2)
        assert not is_error and answer.count("\n") >= 3, answer
        is_error, answer = await text("calls", method="B#wrk")
        assert is_error and "a.B#work" in answer, answer
        print(f"mode {MODE}: {len(names)} tools")


asyncio.run(asyncio.wait_for(session(), 60))

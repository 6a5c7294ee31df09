"""What the tests have the official MCP client do."""

import asyncio
import json
import sys

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters


def server(program, room, agent):
    return StdioServerParameters(command=program, args=["--room", room, "mcp"], env={"MAILBAG_AGENT": agent})


async def every(program, room, mode):
    """Lists and calls every tool, and prints what came of each."""
    async with Client(server(program, room, "alice"), mode=mode) as alice:
        tools = await alice.list_tools()
        print(json.dumps({"tools": [tool.name for tool in tools.tools], "version": alice.protocol_version,
                          "server": [alice.server_info.name, alice.server_info.version]}))
        calls = [
            ("register_agent", {"name": "alice"}),
            ("list_agents", {}),
            ("send_message", {"to": "alice", "body": "a note to myself", "type": "question"}),
            ("wait_for_message", {"timeout_s": 20}),
            ("fetch_inbox", {}),
            ("search_messages", {"query": "to myself"}),
        ]
        seq = None
        for tool, arguments in calls:
            seq = await call(alice, tool, arguments) or seq
        await call(alice, "reply_message", {"id": f"#{seq}", "body": "noted"})
        await call(alice, "acknowledge_message", {"id": f"#{seq}", "status": "resolved"})
        await call(alice, "get_thread", {"id": f"#{seq}"})
        await call(alice, "claim_work", {"action": "claim", "claims": ["src"]})
        await call(alice, "list_claims", {})
        await call(alice, "send_message", {"to": "nobody", "body": "x"})


async def call(client, tool, arguments):
    result = await client.call_tool(tool, arguments)
    text = "".join(block.text for block in result.content)
    print(json.dumps({"tool": tool, "error": bool(result.is_error), "text": text, "data": result.structured_content}))
    return (result.structured_content or {}).get("seq")


async def next_from(client, peer):
    """The next message: mail is handed over once, whatever happens to the router."""
    while True:
        result = await client.call_tool("wait_for_message", {"from": peer, "timeout_s": 20})
        assert not result.is_error, result
        for message in result.structured_content["messages"]:
            return message


async def say(client, tool, arguments):
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result


async def talk(program, room, turns):
    """Two clients answer each other; every message comes once and in order."""
    async with Client(server(program, room, "alice")) as alice, Client(server(program, room, "bob")) as bob:
        for turn in range(int(turns)):
            await say(alice, "send_message", {"to": "bob", "body": f"ping {turn}", "thread": "game"})
            ping = await next_from(bob, "alice")
            assert ping["body"] == f"ping {turn}", (turn, ping)
            await say(bob, "reply_message", {"id": f"#{ping['seq']}", "body": f"pong {turn}"})
            pong = await next_from(alice, "bob")
            assert pong["body"] == f"pong {turn}", (turn, pong)
            print(turn, flush=True)
        for client in (alice, bob):
            result = await client.call_tool("fetch_inbox", {})
            assert result.structured_content["messages"] == [], result


asyncio.run({"every": every, "talk": talk}[sys.argv[1]](*sys.argv[2:]))

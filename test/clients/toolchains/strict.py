"""Each client asks once, runs its tool as often as it is called, and prints the last text."""

import asyncio
import json
import os

from agents import Agent, OpenAIProvider, RunConfig, Runner, function_tool, set_tracing_disabled
from langchain_core.messages import HumanMessage, SystemMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from openai import OpenAI

BASE_URL = os.environ["URL_OF"] + "/v1"
KEY = os.environ["KEY"]
MODEL = "m"
QUESTION = "What is a.out?"
PRINTED = "ELF\x00\x01"
PARAMETERS = {"type": "object", "properties": {"path": {"type": "string"}}}
ABOUT = {"name": "read_file", "description": "The content of a file.", "parameters": PARAMETERS}

loop = asyncio.new_event_loop()
client = OpenAI(base_url=BASE_URL, api_key=KEY, max_retries=0)


def openai_chat(stream):
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "developer", "content": "Use your tool."},
        {"role": "user", "content": QUESTION},
    ]
    asked = {"model": MODEL, "tools": [{"type": "function", "function": ABOUT}], "frequency_penalty": 0}
    while True:
        if stream:
            with client.chat.completions.stream(messages=messages, **asked) as events:
                message = events.get_final_completion().choices[0].message
        else:
            message = client.chat.completions.create(messages=messages, **asked).choices[0].message
        if not message.tool_calls:
            return message.content
        messages.append(message.model_dump(exclude_none=True, exclude={"parsed": True}))
        for call in message.tool_calls:
            messages.append({"role": "tool", "tool_call_id": call.id, "content": PRINTED})


def openai_responses(stream):
    asked = {"model": MODEL, "instructions": "Be brief.", "tools": [{"type": "function", "strict": False, **ABOUT}]}
    given = [{"role": "developer", "content": "Use your tool."}, {"role": "user", "content": QUESTION}]
    previous = None
    while True:
        request = {**asked, "input": given, "previous_response_id": previous}
        if stream:
            with client.responses.stream(**request) as events:
                response = events.get_final_response()
        else:
            response = client.responses.create(**request)
        calls = [item for item in response.output if item.type == "function_call"]
        if not calls:
            return response.output_text
        given = [{"type": "function_call_output", "call_id": call.call_id, "output": PRINTED} for call in calls]
        previous = response.id


@function_tool(name_override="read_file", strict_mode=False)
def read_for_agents(path: str = "") -> str:
    """The content of a file."""
    return PRINTED


def agents(use_responses):
    async def ask(stream):
        provider = OpenAIProvider(base_url=BASE_URL, api_key=KEY, use_responses=use_responses)
        agent = Agent(name="Reader", instructions="Be brief.", model=MODEL, tools=[read_for_agents])
        given = [{"role": "developer", "content": "Use your tool."}, {"role": "user", "content": QUESTION}]
        config = RunConfig(model_provider=provider, tracing_disabled=True)
        if not stream:
            return (await Runner.run(agent, given, run_config=config)).final_output
        result = Runner.run_streamed(agent, given, run_config=config)
        async for _ in result.stream_events():
            pass
        return result.final_output

    # The SDK shares its connections between runs, which belong to one event loop.
    return lambda stream: loop.run_until_complete(ask(stream))


@tool("read_file")
def read_for_langchain(path: str = "") -> str:
    """The content of a file."""
    return PRINTED


def langchain(use_responses):
    def ask(stream):
        chat = ChatOpenAI(model=MODEL, base_url=BASE_URL, api_key=KEY, max_retries=0, use_responses_api=use_responses)
        bound = chat.bind_tools([read_for_langchain])
        messages = [SystemMessage("Be brief."), SystemMessage("Use your tool."), HumanMessage(QUESTION)]
        while True:
            said = gather(bound.stream(messages)) if stream else bound.invoke(messages)
            messages.append(said)
            if not said.tool_calls:
                return said.text if isinstance(said.text, str) else said.text()
            messages.extend(read_for_langchain.invoke(call) for call in said.tool_calls)

    return ask


def gather(pieces):
    whole = None
    for piece in pieces:
        whole = piece if whole is None else whole + piece
    return whole


CLIENTS = {
    "openai, chat": openai_chat,
    "openai, responses": openai_responses,
    "agents, chat": agents(use_responses=False),
    "agents, responses": agents(use_responses=True),
    "langchain, chat": langchain(use_responses=False),
    "langchain, responses": langchain(use_responses=True),
}

set_tracing_disabled(True)
said = {}
for name, ask in CLIENTS.items():
    for stream in (False, True):
        way = f"{name}, {'streamed' if stream else 'plain'}"
        try:
            said[way] = ask(stream)
        except Exception as error:
            said[way] = repr(error)
print(json.dumps(said))

"""A stream, then a function call by the model. Set KINORA_BASE_URL and KINORA_API_KEY. Needs the package `openai`."""
import json
import os

from openai import OpenAI

client = OpenAI(api_key=os.environ["KINORA_API_KEY"], base_url=os.environ["KINORA_BASE_URL"] + "/v1")
model = "sandbox-1"

messages = [{"role": "user", "content": "Say hello to Paris."}]
for chunk in client.chat.completions.create(model=model, messages=messages, stream=True):
    if chunk.choices:
        print(chunk.choices[0].delta.content or "", end="", flush=True)

tools = [
    {
        "type": "function",
        "function": {
            "name": "get_weather",
            "description": "The weather of a city.",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        },
    }
]
messages = [{"role": "user", "content": "Use get_weather: how warm is it in Paris?"}]
said = client.chat.completions.create(model=model, messages=messages, tools=tools).choices[0].message
messages.append(said)
for call in said.tool_calls or []:
    city = json.loads(call.function.arguments)["city"]
    messages.append({"role": "tool", "tool_call_id": call.id, "content": json.dumps({"city": city, "celsius": 21})})
print("\n\n" + client.chat.completions.create(model=model, messages=messages, tools=tools).choices[0].message.content)

import json
import os

import openapi_client as kinora

configuration = kinora.Configuration(host=os.environ["URL_OF"], access_token=os.environ["KEY"])
client = kinora.ApiClient(configuration)
videos, chats, files = kinora.VideosApi(client), kinora.ChatApi(client), kinora.FilesApi(client)
responses = kinora.ResponsesApi(client)


def body(seconds):
    return kinora.PostVideosBody(model="instant-1", prompt="A paper boat", seconds=seconds, aspect_ratio="16:9")


made = videos.post_videos(body(4), idempotency_key="once")
read = videos.get_videos_by_video_id(made.id)
wrong = kinora.PostVideosBody.model_construct(model="instant-1", prompt="A", seconds=99, aspect_ratio="16:9")
try:
    videos.post_videos(wrong)
    refused = None
except kinora.ApiException as error:
    refused = json.loads(error.body)["error"]["param"]

user = kinora.ChatUserMessageParam(role="user", content=kinora.ChatUserMessageParamContent("Hi"))
message = kinora.PostChatCompletionsBodyMessagesInner(user)
chat = chats.post_chat_completions(kinora.PostChatCompletionsBody(model="sandbox-1", messages=[message]))
asked = kinora.PostResponsesBody(model="sandbox-1", input=kinora.PostResponsesBodyInput("Hi"))
response = responses.post_responses(asked)
stored = responses.get_responses_by_response_id(response.id, include=["reasoning.encrypted_content"])
file = files.post_files(file=("note.txt", b"hello"), purpose="user_data")
content = files.get_files_by_file_id_content(file.id)

print(
    json.dumps(
        {
            "job": read.id == made.id,
            "refused": refused,
            "said": chat.choices[0].message.role,
            "stored": stored.status,
            "bytes": content.decode(),
        }
    )
)

import json
import os

from client import AuthenticatedClient
from client.api.chat import post_chat_completions
from client.api.files import get_files_by_file_id_content, post_files
from client.api.responses import get_responses_by_response_id, post_responses
from client.api.videos import get_videos_by_video_id, post_videos
from client.models import ChatUserMessageParam, PostChatCompletionsBody, PostFilesForm, PostResponsesBody
from client.models import PostFilesFormPurpose, PostVideosBody, PostVideosBodyAspectRatio
from client.models.get_responses_by_response_id_include_item import GetResponsesByResponseIdIncludeItem
from client.types import File
from io import BytesIO

client = AuthenticatedClient(base_url=os.environ["URL_OF"], token=os.environ["KEY"])


def body(seconds):
    return PostVideosBody(
        model="instant-1", prompt="A paper boat", seconds=seconds, aspect_ratio=PostVideosBodyAspectRatio("16:9")
    )


made = post_videos.sync(client=client, body=body(4), idempotency_key="once")
read = get_videos_by_video_id.sync(made.id, client=client)
refused = post_videos.sync(client=client, body=body(99))
message = ChatUserMessageParam(role="user", content="Hi")
chat = post_chat_completions.sync(client=client, body=PostChatCompletionsBody(model="sandbox-1", messages=[message]))
response = post_responses.sync(client=client, body=PostResponsesBody(model="sandbox-1", input_="Hi"))
include = [GetResponsesByResponseIdIncludeItem("reasoning.encrypted_content")]
stored = get_responses_by_response_id.sync(response.id, client=client, include=include)
upload = PostFilesForm(
    purpose=PostFilesFormPurpose("user_data"), file=File(payload=BytesIO(b"hello"), file_name="note.txt")
)
file = post_files.sync(client=client, body=upload)
content = get_files_by_file_id_content.sync_detailed(file.id, client=client).content

print(
    json.dumps(
        {
            "job": read.id == made.id,
            "refused": refused.error.param,
            "said": chat.choices[0].message.role,
            "stored": stored.status.value,
            "bytes": content.decode(),
        }
    )
)

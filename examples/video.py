"""Submits a job, waits for it and downloads clip.mp4. Set KINORA_BASE_URL and KINORA_API_KEY. Needs the package `openai`."""
import os
import time
import uuid

from openai import OpenAI

client = OpenAI(api_key=os.environ["KINORA_API_KEY"], base_url=os.environ["KINORA_BASE_URL"] + "/v1")
body = {"model": "storyboard-1", "prompt": "A paper boat on a calm lake. <d>Ahoy!</d>", "seconds": 4, "aspect_ratio": "16:9"}
# The key makes automatic retries of the client safe: only one job is created.
headers = {"Idempotency-Key": str(uuid.uuid4())}
video_id = client.post("/videos", cast_to=object, body=body, options={"headers": headers})["id"]
while (video := client.videos.retrieve(video_id)).status not in ("completed", "failed", "canceled"):
    print(video_id, video.status)
    time.sleep(float(os.environ.get("POLL_SECONDS", 10)))
if video.status != "completed":
    raise SystemExit(video.error.message if video.error else video.status)
client.videos.download_content(video_id).write_to_file("clip.mp4")

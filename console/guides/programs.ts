import { type SnippetLanguage, shellQuote } from '../api/snippets.ts'

/** What the programs are written for: this service, and models of the reader's plan. */
export type Target = { base_url: string; chat_model: string; vision_model: string; video_model: string }

export type Topic = 'chat' | 'stream' | 'response' | 'video' | 'files'

/** A complete program for one topic. It reads the key from `KINORA_API_KEY`. */
export function guideProgram(topic: Topic, language: SnippetLanguage, target: Target): string {
  return PROGRAMS[topic][language](target)
}

type Programs = Record<SnippetLanguage, (target: Target) => string>

const chat: Programs = {
  curl: ({ base_url, chat_model }) =>
    curl(`${base_url}/v1/chat/completions`, { model: chat_model, messages: [GREETING] }),
  node: ({ base_url, chat_model }) => `${nodeClient(base_url)}
const answer = await client.chat.completions.create({
  model: ${quoted(chat_model)},
  messages: [{ role: 'user', content: 'Say hello to Paris.' }],
})
console.log(answer.choices[0].message.content)`,
  python: ({ base_url, chat_model }) => `${pythonClient(base_url)}
answer = client.chat.completions.create(
    model=${JSON.stringify(chat_model)},
    messages=[{"role": "user", "content": "Say hello to Paris."}],
)
print(answer.choices[0].message.content)`,
}

const stream: Programs = {
  curl: ({ base_url, chat_model }) =>
    curl(`${base_url}/v1/chat/completions`, { model: chat_model, messages: [GREETING], stream: true }, '-N '),
  node: ({ base_url, chat_model }) => `${nodeClient(base_url)}
const stream = await client.chat.completions.create({
  model: ${quoted(chat_model)},
  messages: [{ role: 'user', content: 'Say hello to Paris.' }],
  stream: true,
})
for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta?.content ?? '')`,
  python: ({ base_url, chat_model }) => `${pythonClient(base_url)}
stream = client.chat.completions.create(
    model=${JSON.stringify(chat_model)},
    messages=[{"role": "user", "content": "Say hello to Paris."}],
    stream=True,
)
for chunk in stream:
    if chunk.choices:
        print(chunk.choices[0].delta.content or "", end="", flush=True)`,
}

const response: Programs = {
  curl: ({ base_url, chat_model }) => `${SHELL_CALL}
responses=${shellQuote(`${base_url}/v1/responses`)}
model=${shellQuote(JSON.stringify(chat_model))}

first=$(call "$responses" -H 'Content-Type: application/json' \\
  -d "{\\"model\\": $model, \\"input\\": \\"Say hello to Paris.\\"}")
echo "$first"
id=$(echo "$first" | grep -o 'resp_[0-9a-f]*' | head -n 1)

# The conversation is stored: send only what is new.
call "$responses" -H 'Content-Type: application/json' \\
  -d "{\\"model\\": $model, \\"input\\": \\"And to Rome.\\",
       \\"previous_response_id\\": \\"$id\\"}"`,
  node: ({ base_url, chat_model }) => `${nodeClient(base_url)}
const model = ${quoted(chat_model)}
const first = await client.responses.create({ model, input: 'Say hello to Paris.' })
console.log(first.output_text)

// The conversation is stored: send only what is new.
const next = await client.responses.create({
  model,
  input: 'And to Rome.',
  previous_response_id: first.id,
})
console.log(next.output_text)`,
  python: ({ base_url, chat_model }) => `${pythonClient(base_url)}
model = ${JSON.stringify(chat_model)}
first = client.responses.create(model=model, input="Say hello to Paris.")
print(first.output_text)

# The conversation is stored: send only what is new.
second = client.responses.create(
    model=model,
    input="And to Rome.",
    previous_response_id=first.id,
)
print(second.output_text)`,
}

const video: Programs = {
  curl: ({ base_url, video_model }) => `${SHELL_CALL}
videos=${shellQuote(`${base_url}/v1/videos`)}
field() { sed -n "s/.*\\"$1\\":\\"\\([^\\"]*\\)\\".*/\\1/p"; }

# The key makes it safe to send this twice: there will be one job.
id=$(call "$videos" -H 'Content-Type: application/json' \\
  -H "Idempotency-Key: clip-$(date +%s)-$$" \\
  -d ${shellQuote(JSON.stringify({ model: video_model, ...CLIP }, null, 2))} | field id)
while :; do
  status=$(call "$videos/$id" | field status)
  echo "$id $status"
  case $status in
    completed) break ;;
    failed | canceled) call "$videos/$id" && exit 1 ;;
  esac
  sleep "\${POLL_SECONDS:-10}"
done
call "$videos/$id/content" -o clip.mp4`,
  node: ({ base_url, video_model }) => `import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
${nodeClient(base_url)}
const clip = {
  model: ${quoted(video_model)},
  prompt: 'A paper boat on a calm lake. <d>Ahoy!</d>',
  seconds: 4,
  aspect_ratio: '16:9',
}
// The key makes automatic retries of the client safe: only one job is created.
const headers = { 'Idempotency-Key': randomUUID() }
let video = await client.videos.create(clip, { headers })
while (!['completed', 'failed', 'canceled'].includes(video.status)) {
  console.log(video.id, video.status)
  await wait(Number(process.env.POLL_SECONDS ?? 10) * 1000)
  video = await client.videos.retrieve(video.id)
}
if (video.status !== 'completed') throw new Error(video.error?.message ?? video.status)
const content = await client.videos.downloadContent(video.id)
await writeFile('clip.mp4', Buffer.from(await content.arrayBuffer()))`,
  python: ({ base_url, video_model }) => `import time
import uuid
${pythonClient(base_url)}
body = {
    "model": ${JSON.stringify(video_model)},
    "prompt": "A paper boat on a calm lake. <d>Ahoy!</d>",
    "seconds": 4,
    "aspect_ratio": "16:9",
}
# The key makes automatic retries of the client safe: only one job is created.
headers = {"Idempotency-Key": str(uuid.uuid4())}
options = {"headers": headers}
video_id = client.post("/videos", cast_to=object, body=body, options=options)["id"]
while True:
    video = client.videos.retrieve(video_id)
    if video.status in ("completed", "failed", "canceled"):
        break
    print(video_id, video.status)
    time.sleep(float(os.environ.get("POLL_SECONDS", 10)))
if video.status != "completed":
    raise SystemExit(video.error.message if video.error else video.status)
client.videos.download_content(video_id).write_to_file("clip.mp4")`,
}

const files: Programs = {
  curl: ({ base_url, vision_model }) => `${SHELL_CALL}
model=${shellQuote(JSON.stringify(vision_model))}
file=$(call ${shellQuote(`${base_url}/v1/files`)} -F purpose=vision -F file=@photo.png \\
  | grep -o 'file-[0-9A-Z]*' | head -n 1)

call ${shellQuote(`${base_url}/v1/chat/completions`)} \\
  -H 'Content-Type: application/json' -d @- <<JSON
{
  "model": $model,
  "messages": [
    {
      "role": "user",
      "content": [
        {"type": "file", "file": {"file_id": "$file"}},
        {"type": "text", "text": "What is in the image?"}
      ]
    }
  ]
}
JSON`,
  node: ({ base_url, vision_model }) => `import { createReadStream } from 'node:fs'
${nodeClient(base_url)}
const photo = createReadStream('photo.png')
const file = await client.files.create({ file: photo, purpose: 'vision' })
const answer = await client.chat.completions.create({
  model: ${quoted(vision_model)},
  messages: [
    {
      role: 'user',
      content: [
        { type: 'file', file: { file_id: file.id } },
        { type: 'text', text: 'What is in the image?' },
      ],
    },
  ],
})
console.log(answer.choices[0].message.content)`,
  python: ({ base_url, vision_model }) => `${pythonClient(base_url)}
file = client.files.create(file=open("photo.png", "rb"), purpose="vision")
answer = client.chat.completions.create(
    model=${JSON.stringify(vision_model)},
    messages=[
        {
            "role": "user",
            "content": [
                {"type": "file", "file": {"file_id": file.id}},
                {"type": "text", "text": "What is in the image?"},
            ],
        }
    ],
)
print(answer.choices[0].message.content)`,
}

const PROGRAMS: Record<Topic, Programs> = { chat, stream, response, video, files }

const GREETING = { role: 'user', content: 'Say hello to Paris.' }
const CLIP = { prompt: 'A paper boat on a calm lake. <d>Ahoy!</d>', seconds: 4, aspect_ratio: '16:9' }
const SHELL_CALL = `call() {
  curl --fail-with-body -sS -H "Authorization: Bearer $KINORA_API_KEY" "$@"
}`

function curl(url: string, body: object, options = ''): string {
  return [
    `curl ${options}${shellQuote(url)}`,
    '-H "Authorization: Bearer $KINORA_API_KEY"',
    '-H "Content-Type: application/json"',
    `-d ${shellQuote(JSON.stringify(body, null, 2))}`,
  ].join(' \\\n  ')
}

function nodeClient(base_url: string): string {
  return `import OpenAI from 'openai'

const client = new OpenAI({
  apiKey: process.env.KINORA_API_KEY,
  baseURL: ${quoted(`${base_url}/v1`)},
})`
}

function pythonClient(base_url: string): string {
  return `import os

from openai import OpenAI

client = OpenAI(
    api_key=os.environ["KINORA_API_KEY"],
    base_url=${JSON.stringify(`${base_url}/v1`)},
)`
}

/** A text of JavaScript, in the quotes of its neighbors where it is a plain one. */
export function quoted(text: string): string {
  return /^[\w:/.@-]*$/.test(text) ? `'${text}'` : JSON.stringify(text)
}

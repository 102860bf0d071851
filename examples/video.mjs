// Submits a job, waits for it and downloads clip.mp4. Set KINORA_BASE_URL and KINORA_API_KEY. Needs the package `openai`.
import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { setTimeout as wait } from 'node:timers/promises'
import OpenAI from 'openai'

const client = new OpenAI({ apiKey: process.env.KINORA_API_KEY, baseURL: `${process.env.KINORA_BASE_URL}/v1` })
const prompt = 'A paper boat on a calm lake. <d>Ahoy!</d>'
// The key makes automatic retries of the client safe: only one job is created.
let video = await client.videos.create(
  { model: 'storyboard-1', prompt, seconds: 4, aspect_ratio: '16:9' },
  { headers: { 'Idempotency-Key': randomUUID() } },
)
while (!['completed', 'failed', 'canceled'].includes(video.status)) {
  console.log(video.id, video.status)
  await wait(Number(process.env.POLL_SECONDS ?? 10) * 1000)
  video = await client.videos.retrieve(video.id)
}
if (video.status !== 'completed') throw new Error(video.error?.message ?? video.status)
const clip = await client.videos.downloadContent(video.id)
await writeFile('clip.mp4', Buffer.from(await clip.arrayBuffer()))

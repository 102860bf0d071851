import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { EngineError } from '../../server/engines/engine-error.ts'
import { openaiTranscription } from '../../server/engines/moderation/transcription.ts'
import type { Fault } from '../support/upstream/engine-server/faults.ts'
import { startEngineServer } from '../support/upstream/engine-server/server.ts'

const server = await startEngineServer()
const engine = openaiTranscription({ base_url: server.url, api_key: 'ears', model: 'whisper-1', timeout_seconds: 1 })
after(async () => {
  await engine.close()
  await server.close()
})

const hear = () => engine.transcribe(new Uint8Array([82, 73, 70, 70]), new AbortController().signal)
const json = { 'content-type': 'application/json' }
const ok = (body: string | object): Fault => ({ kind: 'status', status: 200, body, headers: json })
const FAULTS: Record<string, Fault> = {
  'connection reset': { kind: 'reset' },
  'reply lost': { kind: 'lost_reply' },
  'no answer': { kind: 'stall' },
  'body cut': { kind: 'cut' },
  'a length that is too long': { kind: 'wrong_length' },
  'not HTTP': { kind: 'garbage' },
  'gzip bomb': { kind: 'gzip_bomb' },
  'giant line': { kind: 'giant_line' },
  ...Object.fromEntries(
    [204, 301, 400, 401, 404, 413, 429, 500, 503].map((status) => [
      `status ${status}`,
      { kind: 'status', status, body: { text: 'a song' } } as Fault,
    ]),
  ),
  'empty body': ok(''),
  HTML: { kind: 'status', status: 200, body: '<html>a song</html>', headers: { 'content-type': 'text/html' } },
  'text without JSON': ok('a song'),
  'JSON null': ok('null'),
  'JSON array': ok([{ text: 'a song' }]),
  'JSON string': ok('"a song"'),
  'no text': ok({}),
  'text null': ok({ text: null }),
  'text as a list': ok({ text: ['a song'] }),
  'an error with status 200': ok({ error: { message: 'overloaded' } }),
}

test(`none of ${Object.keys(FAULTS).length} faults is read as words or as silence`, async () => {
  for (const [name, fault] of Object.entries(FAULTS)) {
    server.script({ method: 'POST', fault })
    const heard = await hear().catch((error: unknown) => error)
    assert.ok(heard instanceof EngineError, `${name} gave ${JSON.stringify(heard)}`)
    server.release()
  }
  assert.equal(await hear(), 'a quiet song')
})

test('the words arrive as they are, also byte by byte, and silence is an empty text', async () => {
  for (const words of ['猫が鳴く “é”', '']) {
    server.answers.transcription = () => words
    server.script({ method: 'POST', fault: { kind: 'drip' } })
    assert.equal(await hear(), words)
  }
})

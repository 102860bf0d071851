import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requestFor } from '../../../server/engines/check/video/request.ts'
import type { RenderState, VideoEngine } from '../../../server/engines/video/contract.ts'
import type { Fault } from '../../support/upstream/engine-server/faults.ts'
import * as does from '../../support/upstream/engine-server/misbehavior.ts'
import { clips, missingClips } from './misbehaving-clips.ts'
import { live, pollToEnd, type Subject, start, thrown } from './subject.ts'

type Kind = keyof typeof KINDS

/**
 * What the engines and gateways of the field do, tried on one adapter. A kind that the protocol cannot meet has its reason in `cannot`.
 * `open` gives an engine of the server.
 */
export function videoEngineMisbehavior(
  name: string,
  {
    open,
    cannot = {},
    ...setup
  }: Omit<Subject, 'engine'> & { open(): VideoEngine; cannot?: Partial<Record<Kind, string>> },
): void {
  for (const [kind, run] of Object.entries(KINDS) as Array<[Kind, (subject: Subject) => Promise<void>]>) {
    if (cannot[kind] !== undefined) continue
    test(`${name}: ${kind}`, async () => {
      const engine = open()
      try {
        await run({ engine, ...setup })
      } finally {
        setup.server.unscript()
        setup.server.conduct({ polls: 0, status: null, error: null, id_prefix: 'video_', extra: {}, omit: [] })
        await engine.close?.()
      }
    })
  }
}

const KINDS = {
  'a refusal inside 200 is an answer: its code or words say what kind, and nothing was begun': refusals,
  'an id of any type, name, place and length is accepted as text': ids,
  'a start is sent once whatever coding its reply claims or has, and so is a poll': codings,
  'redirects on the origin are followed five times, with the body': redirects,
  'a render that is not known is lost, in whatever status and words the reply says so': unknownRenders,
  'an envelope around a view changes nothing, and its success is not that of the render': envelopes,
  'words of success and of running are read in any case; an unknown word is reported, and evidence decides': words,
  'words of failure are read in any case, and so is an error beside an unknown word': failures,
  'what a content filter blocked is so by words or flags alone, on a finished render too': blocked,
  'progress is a number, a percentage or a fraction': progress,
  'a start that shortens the clip is canceled and rejected': shortened,
  'a clip is judged by its bytes, and followed to where the reply says it is': clips,
  'a clip that cannot be had is a definite error, and one that may come later is not': missingClips,
  'a start without an answer is found in a wrapped list with numbers for ids': lists,
}

async function refusals({ server, calls, ...subject }: Subject): Promise<void> {
  const table: Array<[body: object, kind: string]> = [
    [{ error: { code: 'content_policy_violation', message: 'blocked' } }, 'moderation'],
    [{ success: false, message: 'Your prompt was rejected by our safety system' }, 'moderation'],
    [{ code: 400, msg: 'sensitive words detected', data: null }, 'moderation'],
    [{ code: 429, msg: 'busy' }, 'transient'],
    [{ base_resp: { status_code: 1002, status_msg: 'rate limit' } }, 'transient'],
    [{ code: 'server_overloaded', message: 'try later', data: null }, 'transient'],
    [{ success: false, message: 'the length must be 5 or 10' }, 'rejected'],
    [{ detail: 'Invalid value for seed' }, 'rejected'],
    [{ code: 401, msg: 'token expired' }, 'permanent'],
  ]
  const before = server.started()
  for (const [body, kind] of table) {
    server.script({ ...calls.start, fault: does.instead(body) })
    const error = await thrown(start(subject))
    assert.deepEqual([error.kind, error.not_begun], [kind, true], JSON.stringify(body))
  }
  assert.equal(server.started(), before)
  // What a gateway passes on of an upstream that failed leaves open what that had begun.
  server.script({ ...calls.start, fault: does.instead({ code: 500, msg: 'upstream failed', data: null }) })
  const { kind, not_begun } = await thrown(start(subject))
  assert.deepEqual([kind, not_begun], ['transient', false])
}

async function ids({ server, calls, ...subject }: Subject): Promise<void> {
  const { engine } = subject
  const shapes: Array<(id: string) => unknown> = [
    (id) => ({ id: Number(id) }),
    ...['task_id', 'video_id', 'generation_id', 'request_id', 'taskId'].map((name) => (id: string) => ({ [name]: id })),
    ...['data', 'video', 'result', 'output', 'task'].map((name) => (id: string) => ({ [name]: { id } })),
    (id) => ({ code: 200, msg: 'ok', data: { task_id: Number(id) } }),
    (id) => ({ code: 'success', data: id }),
    (id) => ({ data: [{ id }] }),
    (id) => [{ id }],
  ]
  server.conduct({ id_prefix: '298375023910' })
  for (const shape of shapes) {
    server.script({ ...calls.start, fault: does.withId(shape) })
    assert.equal((await pollToEnd(engine, await start(subject))).state, 'succeeded', JSON.stringify(shape('1')))
  }
  server.conduct({ id_prefix: 'x'.repeat(700) })
  assert.equal((await pollToEnd(engine, await start(subject))).state, 'succeeded')
}

async function codings({ server, calls, ...subject }: Subject): Promise<void> {
  for (const coding of ['UTF-8', 'aws-chunked', 'identity, utf-8', 'gzip', 'deflate', 'br', 'zstd']) {
    const before = server.started()
    server.script({ ...calls.start, fault: does.coded(coding) }, { ...calls.poll, fault: does.coded(coding) })
    assert.equal((await pollToEnd(subject.engine, await start(subject))).state, 'succeeded', coding)
    assert.equal(server.started(), before + 1)
  }
}

async function redirects({ server, calls, ...subject }: Subject): Promise<void> {
  for (const status of [307, 308]) {
    const before = server.started()
    server.script({ ...calls.start, times: 5, fault: does.redirected(status) })
    const ticket = await start(subject)
    assert.equal(server.started(), before + 1)
    server.script({ ...calls.poll, times: 5, fault: does.redirected(302) })
    assert.equal((await pollToEnd(subject.engine, ticket)).state, 'succeeded')
  }
  server.script({ ...calls.start, times: 6, fault: does.redirected(307) })
  assert.deepEqual((await thrown(start(subject))).not_begun, true)
}

async function unknownRenders({ server, calls, ...subject }: Subject): Promise<void> {
  const { engine } = subject
  const ticket = await start(subject)
  const gone: Fault[] = [
    does.instead({ error: { code: 'not_found', message: 'no such thing' } }, 404),
    does.page(404),
    does.page(410),
    does.instead({ code: 'task_not_exist', message: 'task_not_exist', data: null }, 400),
    does.instead({ code: 'task_not_exist', message: '', data: null }),
    does.instead({ error: { message: 'Task video_1 not found' } }),
    does.instead({ code: 404, msg: 'nothing here' }),
    does.instead({ success: false, message: 'The job does not exist' }),
  ]
  for (const fault of gone) {
    server.script({ ...calls.poll, fault })
    assert.deepEqual(await engine.poll(ticket, live()), { state: 'lost' }, JSON.stringify(fault))
  }
  assert.equal((await pollToEnd(engine, ticket)).state, 'succeeded')
}

async function envelopes({ server, calls, ...subject }: Subject): Promise<void> {
  for (const outer of [{ status: 'success' }, { code: 'success', message: '' }, { code: 0, success: true }]) {
    const running = await polled({ server, calls, ...subject }, does.wrapped(outer), { polls: 9 })
    assert.equal(running.state, 'running', JSON.stringify(outer))
    server.conduct({ polls: 0 })
    server.script({ ...calls.poll, times: 2, fault: does.wrapped(outer) })
    const end = await pollToEnd(subject.engine, await start(subject))
    assert.equal(end.state, 'succeeded', JSON.stringify(outer))
    server.unscript()
  }
}

async function words(subject: Subject): Promise<void> {
  for (const word of ['SUCCEED', 'success', 'Finished', 'complete', 'ok', 'TASK_STATUS_SUCCEED'])
    assert.equal((await polled(subject, does.withStatus(word))).state, 'succeeded', word)
  for (const word of ['waiting', 'IN_PROGRESS', 'not_start', 'Generating', 'TASK_STATUS_PROCESSING'])
    assert.deepEqual(bare(await polled(subject, does.withStatus(word), { polls: 9 })), { state: 'running' }, word)
  for (const word of ['vae_decoding', 5])
    assert.deepEqual(bare(await polled(subject, does.withStatus(word), { polls: 9 })), {
      state: 'running',
      unknown_status: String(word),
    })
  const evident = async (beside: Record<string, unknown>) =>
    (await polled(subject, does.withStatus('vae_decoding', beside))).state
  assert.equal(await evident({ video_url: `${subject.server.url}/ok.mp4` }), 'succeeded')
  assert.equal(await evident({ completed_at: 1764000000 }), 'succeeded')
}

async function failures(subject: Subject): Promise<void> {
  const end = async (word: string, beside: Record<string, unknown>) => {
    const state = await polled(subject, does.withStatus(word, beside), { polls: 9 })
    return state.state === 'failed' ? state.error.kind : state.state
  }
  for (const word of ['fail', 'FAILURE', 'error', 'TASK_STATUS_FAILED', 'vae_decoding'])
    assert.equal(await end(word, { error: { message: 'x' } }), 'rejected', word)
  for (const word of ['timeout', 'TIMED_OUT', 'expired', 'Cancelled'])
    assert.equal(await end(word, {}), 'transient', word)
  assert.equal(await end('failed', { error: { code: 'server_error', message: 'x' } }), 'transient')
}

async function blocked(subject: Subject): Promise<void> {
  const text = 'Output blocked by our content policy (NSFW)'
  const faults: Fault[] = [
    does.withStatus('failed', { error: { code: null, message: text } }),
    does.withStatus('failed', { error: text }),
    does.withStatus('failed', { error: null, fail_reason: text }),
    does.withStatus('Content Moderated'),
    does.instead({ error: { code: 'moderation_blocked', message: 'no' } }, 400),
    does.beside({ has_nsfw_concepts: [true] }),
    does.beside({ finish_reason: 'SAFETY' }),
  ]
  for (const fault of faults) {
    const state = await polled(subject, fault)
    assert.equal(state.state === 'failed' && state.error.kind, 'moderation', JSON.stringify(state))
  }
}

async function progress(subject: Subject): Promise<void> {
  for (const [value, percent] of [
    ['45%', 45],
    [0.45, 45],
    [45, 45],
    ['45', 45],
    [100, 99],
  ] as const) {
    const state = await polled(subject, does.beside({ progress: value }), { polls: 9 })
    assert.equal(state.state === 'running' && state.progress, percent, String(value))
  }
}

async function shortened({ server, calls, ...subject }: Subject): Promise<void> {
  const { engine, model } = subject
  const { seconds, cancel } = engine.capabilities(model)
  server.conduct({ polls: 9 })
  const request = { ...requestFor(engine, model), seconds: seconds[1] }
  for (const given of [{ seconds: String(seconds[1] / 2) }, { duration: seconds[1] / 2 }]) {
    server.script({ ...calls.start, fault: does.beside({ seconds: undefined, ...given }) })
    const error = await thrown(engine.start(request, live()))
    assert.deepEqual([error.kind, error.engine_code, error.not_begun], ['rejected', 'shortened', false])
    assert.equal([...server.renders.values()].at(-1)!.canceled, cancel !== 'none')
  }
}

async function lists({ server, calls, ...subject }: Subject): Promise<void> {
  const { engine, model } = subject
  server.forget()
  server.conduct({ id_prefix: '298375023910' })
  const since = new Date()
  const request = requestFor(engine, model)
  server.script({ ...calls.start, fault: { kind: 'lost_reply' } })
  await thrown(engine.start(request, live()))
  const numbered = (json: Record<string, unknown>) =>
    JSON.parse(JSON.stringify({ code: 0, message: 'ok', data: json }).replaceAll(/"id":"(\d+)"/g, '"id":$1'))
  server.script({ ...calls.list!, fault: does.changed(numbered) })
  const found = await engine.recover!(request, { since, taken: async () => new Set() })
  assert.ok(typeof found === 'object', String(found))
  assert.equal((await engine.poll(found.found, live())).state, 'succeeded')
}

/** The state of a fresh render whose next poll meets the fault. */
async function polled(
  { server, calls, ...subject }: Subject,
  fault: Fault,
  conduct: { polls: number } = { polls: 0 },
): Promise<RenderState> {
  server.conduct(conduct)
  const ticket = await start(subject)
  server.script({ ...calls.poll, fault })
  return subject.engine.poll(ticket, live())
}

/** Without what the fake reports besides. */
function bare(state: RenderState): Record<string, unknown> {
  const { progress: _, ...rest } = state as Record<string, unknown>
  return rest
}

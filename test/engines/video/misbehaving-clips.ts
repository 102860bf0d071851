import assert from 'node:assert/strict'
import { readAll } from '../../../server/platform/outbound/exchange.ts'
import type { Fault } from '../../support/upstream/engine-server/faults.ts'
import * as does from '../../support/upstream/engine-server/misbehavior.ts'
import { live, pollToEnd, type Subject, start, thrown } from './subject.ts'

export async function clips({ server, calls, ...subject }: Subject): Promise<void> {
  const { engine } = subject
  const ticket = await start(subject)
  const done = await pollToEnd(engine, ticket)
  assert.ok(done.state === 'succeeded')
  const fetched = async () => (await readAll(await engine.fetch(ticket, done.output, live()))).toString('latin1', 4, 8)
  const types = ['application/force-download', 'application/octet-stream', 'text/plain', 'application/json']
  const faults: Fault[] = [
    ...['aws-chunked', 'UTF-8', 'gzip', 'zstd'].map(does.coded),
    ...types.map((type) => does.withHeaders({ 'content-type': type })),
    does.named((url) => ({ url })),
    does.named((url) => ({ code: 200, data: { video_url: url } })),
    does.encoded((base64) => ({ encodedVideo: base64 })),
    does.encoded((base64) => ({ data: [{ url: `data:video/mp4;base64,${base64}` }] })),
  ]
  for (const fault of faults) {
    server.script({ ...calls.output, fault })
    assert.equal(await fetched(), 'ftyp', JSON.stringify(fault))
  }
  server.script({ ...calls.output, fault: does.noise('application/octet-stream') })
  assert.equal(await fetched(), 'e no', 'what nobody knows is for the probe to judge')
  const hops = [302, 307, 301, 308, 303].map((status) => ({ ...calls.output, fault: does.redirected(status) }))
  server.script(...hops)
  assert.equal(await fetched(), 'ftyp')
  server.script(...hops, hops[0]!)
  assert.notEqual((await thrown(fetched())).kind, 'transient')
}

export async function missingClips({ server, calls, ...subject }: Subject): Promise<void> {
  const { engine } = subject
  const ticket = await start(subject)
  const done = await pollToEnd(engine, ticket)
  assert.ok(done.state === 'succeeded')
  const isTransient = async (fault: Fault) => {
    server.script({ ...calls.output, times: 3, fault })
    const { kind } = await thrown(engine.fetch(ticket, done.output, live()))
    server.unscript()
    return kind === 'transient'
  }
  for (const status of [401, 403, 404, 410]) assert.equal(await isTransient(does.page(status)), false, String(status))
  for (const json of [{ error: { message: 'no video' } }, { note: 'x' }, []])
    assert.equal(await isTransient(does.instead(json)), false, JSON.stringify(json))
  for (const status of [200, 408, 429, 500, 502, 503])
    assert.equal(await isTransient(does.page(status)), true, String(status))
  assert.equal(await isTransient(does.instead({ status: 'processing' })), true)
}

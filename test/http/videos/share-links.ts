import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadConfig } from '../../../server/config/load.ts'
import { engineMistakes } from '../../../server/engines/registry.ts'
import { INSTANT_CONFIG, type TestApp, type TestPerson } from '../../support/http/app.ts'
import { send } from '../../support/http/send.ts'
import { submit } from '../../support/http/videos-app.ts'

export const DAY = 86_400
export const PROMPT = 'A secret dragon over the lake'

export function withSharing(sharing: string): string {
  return `${INSTANT_CONFIG}sharing: { ${sharing} }\ntrusted_proxies: [127.0.0.1]\n`
}

/** Makes, lists, revokes and opens share links of one service. `app` is asked at each use. */
export function shareLinks(app: () => TestApp) {
  /** The tokens of the links made by `newLink`. */
  const tokens: string[] = []

  /** Sets what the operator allows, without a restart. */
  function reload(sharing: string): void {
    const running = app()
    const path = join(running.dir, 'kinora.yaml')
    writeFileSync(path, withSharing(sharing))
    const config = loadConfig({ config: path, data_dir: running.dir }, {}, engineMistakes)
    const next = { config, secret: running.ctx.secret }
    running.app.changedBy(next)
    running.app.reload(next)
  }

  async function clipOf(person: TestPerson): Promise<string> {
    const { id } = (await submit(app(), { key: person.key }, { prompt: PROMPT })).body
    await app().tick()
    return id
  }

  const linksOf = (video: string) => `/console/videos/${video}/share_links`
  const share = (person: TestPerson, video: string, body: object = { expires_in_days: 7 }) =>
    send(app(), 'POST', linksOf(video), { cookie: person.cookie }, body)
  const list = (person: TestPerson, video: string) => send(app(), 'GET', linksOf(video), { cookie: person.cookie })
  const revoke = (person: TestPerson, id: string) =>
    send(app(), 'DELETE', `/console/share_links/${id}`, { cookie: person.cookie })
  const open = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    send(app(), method, path, { headers })

  /** A link to a new clip, with the path of its page. */
  async function newLink(person: TestPerson, body?: object) {
    const video = await clipOf(person)
    const { status, body: link, text } = await share(person, video, body)
    assert.equal(status, 200, text)
    const path = new URL(link.url).pathname
    tokens.push(path.slice(3))
    return { video, link, path }
  }

  return { tokens, reload, clipOf, share, list, revoke, open, newLink }
}

import { parseExact } from '../../../platform/json/parse-exact.ts'
import { isRecord } from '../../../platform/json/record.ts'
import type { EngineReply } from '../../../platform/outbound/client.ts'

/** The last reply that a package was given: packages read no more of it than their schema names, so that filter counts are lost on them. */
export type Heard = { reply: EngineReply | null }

/** The same `fetch`, which notes every reply. Ids that are numbers become text, as packages expect them. */
export function listening(guarded: typeof fetch, heard: Heard): typeof fetch {
  return async (input, init) => {
    const response = await guarded(input, init)
    const bytes = new Uint8Array(await response.arrayBuffer())
    const { status, headers } = response
    const text = Buffer.from(bytes).toString('utf8')
    const json = parseExact(text)
    heard.reply = { status, headers: Object.fromEntries(headers), text, json }
    const read = withTextIds(json)
    const body = bytes.length === 0 ? null : read === json ? bytes : JSON.stringify(read)
    return new Response(body, { status, headers })
  }
}

/** The same value when no id in it is a number. */
function withTextIds(value: unknown): unknown {
  if (!isRecord(value)) return value
  const members = Object.entries(value).map(([name, each]): [string, unknown] => {
    const isId = typeof each === 'number' && /(^|_)id$|[a-z]Id$/.test(name)
    return [name, isId ? String(each) : withTextIds(each)]
  })
  return members.every(([name, each]) => each === value[name]) ? value : Object.fromEntries(members)
}

import type { ChatRequest } from './contract.ts'

/** Makes what a server says fit for the log; undefined when nothing is left. */
export type ReadWords = (text: string) => string | undefined

/**
 * What a server says about `request`, without what it repeats of it, addresses, credentials and `names`, which are the operator's. Servers
 * put all of these into their errors. A piece of a message is found when it has `GRAM + STEP` characters, is in quotes, or is the message.
 */
export function readWords(request: ChatRequest, names: readonly (string | undefined)[]): ReadWords {
  return (text) => {
    let words = withoutTexts(text.slice(0, LENGTH_MAX), request)
    for (const name of names) if (name !== undefined && name.length >= NAME_MIN) words = words.replaceAll(name, GAP)
    for (const pattern of SECRETS) words = words.replace(pattern, GAP)
    words = words
      .replace(/[\s\p{Cc}]+/gu, ' ')
      .replace(/…[\s…]*…/g, GAP)
      .trim()
    return /\w/.test(words) ? words : undefined
  }
}

const LENGTH_MAX = 400
/** A shorter name is a part of other words. */
const NAME_MIN = 4
const GAP = '…'

/** URLs, mail addresses, IP addresses, host names but not paths of fields, files, credentials, in this order. */
const SECRETS = [
  /\b[a-z][a-z0-9+.-]*:\/\/\S+|\bdata:\S+/gi,
  /\S+@\S+/g,
  /\b\d{1,3}(\.\d{1,3}){3}(:\d+)?\b|\[[0-9a-f:]*:[0-9a-f:]+\](:\d+)?|\blocalhost(:\d+)?\b/gi,
  /(?<![\w.])(?!(messages|tools|body|response_format|input)\.)[a-z0-9-]+(\.[a-z0-9-]+)*\.[a-z]{2,}(:\d+)?\b/gi,
  /(?<![\w.])\/[\w.~-]+\/[\w./~-]+/g,
  /\b((sk|pk|rk|gsk|xai|hf)[-_]|bearer )[\w*.-]{4,}/gi,
  /\b(?=[\w-]*\d)(?=[\w-]*[a-z])[\w-]{24,}/gi,
]

/** Length of the pieces that are looked for, and the distance at which they are taken from a message. */
const GRAM = 12
const STEP = 6

function withoutTexts(words: string, request: ChatRequest): string {
  const places = new Map<string, number[]>()
  for (let at = 0; at + GRAM <= words.length; at++) {
    const gram = words.slice(at, at + GRAM)
    places.set(gram, [...(places.get(gram) ?? []), at])
  }
  const isHidden = new Uint8Array(words.length)
  const short: string[] = []
  for (const text of textsOf(request)) {
    if (text.length <= GRAM + STEP) short.push(text.trim())
    for (let at = 0; at + GRAM <= text.length; at += STEP) {
      const gram = text.slice(at, at + GRAM)
      const found = places.get(gram)
      if (found === undefined) continue
      for (const place of found) isHidden.fill(1, Math.max(0, place - STEP), place + GRAM + STEP)
      // Hidden once: a text of one repeated character has the same piece a million times.
      places.delete(gram)
    }
  }
  let left = ''
  for (let at = 0; at < words.length; at++) left += isHidden[at] ? (isHidden[at - 1] ? '' : GAP) : words[at]
  const rest = short.filter(({ length }) => length >= NAME_MIN).reduce((all, text) => all.replaceAll(text, GAP), left)
  return rest.replace(QUOTED, (found, quoted: string) => (isIn(request, quoted) ? GAP : found))
}

const QUOTED = /(?<!\w)["'`“]([^"'`”]{4,})["'`”](?!\w)/g

function isIn(request: ChatRequest, words: string): boolean {
  for (const text of textsOf(request)) if (text.includes(words)) return true
  return false
}

function* textsOf({ messages }: ChatRequest): Generator<string> {
  for (const message of messages) {
    const { content } = message
    if (typeof content === 'string') yield content
    else for (const part of content ?? []) if (part.type === 'text') yield part.text
    if (message.role !== 'assistant') continue
    yield message.reasoning ?? ''
    yield message.refusal ?? ''
    for (const call of message.tool_calls ?? []) yield call.function.arguments
  }
}

import type { ErrorDetail } from '../../../reply-error.ts'

/** Whether the server does not know `engine.model`, which no client chose. */
export function isAboutModel({ param, message }: ErrorDetail): boolean {
  return param === 'model' || MODEL.some((pattern) => pattern.test(message))
}

/**
 * Whether a 404 is about what the client asked for, such as a capability that no provider has (OpenRouter). Any other is about the address or
 * the model.
 */
export function isAboutRequest({ message }: ErrorDetail): boolean {
  return REQUEST.test(message) && !PATH.test(message)
}

/**
 * The field of the request that a server refused, by its name in chat completions; undefined when it names none. Places within `messages`
 * are left out, since those of the client may have other numbers.
 */
export function paramOf({ param, message }: ErrorDetail): string | undefined {
  const quoted = ABOUT_FIELD.test(message) ? [...message.matchAll(QUOTED)].map((found) => found[1]!) : []
  const named = [param, ...quoted, ...(message.match(SNAKE) ?? [])]
  for (const name of named) {
    const root = /^[a-z_]+/.exec(name)?.[0] ?? ''
    if (!FIELDS.has(root) || name.length > PATH_MAX) continue
    return root === 'messages' || !/^[\w.[\]]+$/.test(name) ? root : name
  }
  return undefined
}

const PATH_MAX = 128

/** The model itself is what is missing: its name may come between, but no other thing, such as a tool or a file. */
const MODEL = [
  /\bmodels?(\/|\b)( (with|the|id|name|named|called|or endpoint))*[ :=]{0,2}(["'`“][^"'`”]{0,120}["'`”]|(?!(tool|function|file|image)\b)[\w./:@…-]{0,120}):? ?((was|is|are|has|could|can) ?)?(not (be )?found|not exist|does ?n[o'’]t exist|no longer (exists?|supported|available)|(been )?(decommissioned|deprecated|retired)|not a valid model|unknown|not (currently )?(loaded|available|deployed))\b/i,
  /\b(no such|unknown|invalid|not a valid|not found the) model( id| name)?\b(?! (param|input|type|output))/i,
  /\bmodel (id|identifier|name) (is |was )?invalid|\bmodel ID \S{1,120} with on-demand throughput/i,
  /\bdoes not work with the specified model|\bnot supported by any provider/i,
  /\bno models? (is |are )?loaded|\bfailed to load (the )?model\b|try pulling it/i,
  /\bno endpoints found (for|matching your data policy)|模型(不存在|未找到)/i,
]

const PATH =
  /^(the )?file (was )?not found\.?$|\b(unknown|invalid|unrecognized) (request )?(url|path|route|endpoint)|^cannot (post|get)\b/i

/** What a request may have and a model may not take. */
const REQUEST =
  /\b((?<!\b(contact|our|customer|technical) )support\w*|parameters?|tools?|(image|audio|video|file)s?)\b/i

/** What a client may send that goes upstream. `model` is not among them: it is ours. */
const FIELDS: ReadonlySet<string> = new Set([
  ...['messages', 'tools', 'tool_choice', 'parallel_tool_calls', 'response_format', 'stop', 'seed', 'n', 'user'],
  ...['temperature', 'top_p', 'top_k', 'min_p', 'repetition_penalty', 'frequency_penalty', 'presence_penalty'],
  ...['max_tokens', 'max_completion_tokens', 'logprobs', 'top_logprobs', 'logit_bias', 'reasoning_effort'],
])

/** Without such a word a name in quotes may be any word, such as the role `user`. */
const ABOUT_FIELD = /\b(param(eter)?|argument|field|property|option|key)s?\b/i
const QUOTED = /["'`“]([a-z][\w.[\]]*)["'`”]/g
/** Names that are no words of English. */
const SNAKE = /\b[a-z]+(?:_[a-z]+)+\b|\btemperature\b|\blogprobs\b/g

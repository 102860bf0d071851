import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ChatMessage } from './contract.ts'
import { readWords } from './server-words.ts'

const PROMPT = 'My sister Ada lives at 12 Harbour Street and has a secret: she never liked the sea, nor its salt.'
const MESSAGES: ChatMessage[] = [
  { role: 'system', content: 'Be terse.' },
  { role: 'user', content: [{ type: 'text', text: PROMPT }] },
  {
    role: 'assistant',
    content: null,
    tool_calls: [
      { id: 'a', type: 'function', function: { name: 'look', arguments: '{"street":"Harbour Street 12"}' } },
    ],
  },
  { role: 'tool', tool_call_id: 'a', content: 'tidal' },
]
const wordsOf = readWords({ model: 'm', n: 1, stream: false, messages: MESSAGES }, ['big-model-7b', 'top-secret', 'm'])
const words = (text: string) => wordsOf(text).reason

test('what a server says of a request is kept', () => {
  for (const text of [
    'System message must be at the beginning.',
    "Unsupported parameter: 'top_k' is not supported with this model.",
    'messages.1.content: text content blocks must be non-empty',
    'Expected max_tokens to be at most 4096, got 8192.',
    "[{'type': 'extra_forbidden', 'loc': ('body', 'top_k'), 'msg': 'Extra inputs are not permitted', 'input': 5}]",
    "This model's context is small, and the server's limit of 5 isn't met.",
  ])
    assert.equal(words(text), text)
})

test('nothing of the request, no address, no credential and no name of the operator is kept', () => {
  const said: Array<[text: string, kept: RegExp]> = [
    [`Invalid content: ${PROMPT}`, /^Invalid con/],
    [`Bad value ${PROMPT.slice(20, 50)} for messages`, /^Bad.*messages$/],
    ['Cannot parse \'{"street":"Harbour Street 12"}\'', /^Cannot p/],
    ["Invalid input: 'Ada lives at'", /^Invalid input: …$/],
    ['Role tool said tidal, which is wrong', /^Role tool said …, which is wrong$/],
    ['Use "Be terse." only once', /^Use/],
    ['See https://upstream.internal/docs?key=1 or mail ops@upstream.internal', /^See … or mail …$/],
    ['No route to 10.0.0.7:8000, upstream.internal, localhost:9', /^No route to …, …, …$/],
    ['Incorrect API key provided: sk-abc123def456', /^Incorrect API key provided: …$/],
    ['Token eyJhbGciOiJIUzI1NiIsInR5cCI6 has expired', /^Token … has expired$/],
    ['big-model-7b does not take images with top-secret', /^… does not take images with …$/],
    ['Failed to open /srv/models/big.gguf', /^Failed to open …$/],
  ]
  const hidden = /ada|harbour|secret|tidal|terse|upstream|10\.0\.0\.7|localhost|sk-|eyJ|7b|gguf/i
  for (const [text, kept] of said) {
    const left = words(text)!
    assert.match(left, kept)
    assert.doesNotMatch(left, hidden, left)
  }
})

test('a text of which nothing is left, or that is empty, is none; a long one is cut', () => {
  assert.equal(words(''), undefined)
  assert.equal(words(PROMPT), undefined)
  assert.ok(words('word '.repeat(1000))!.length <= 400)
})

test('nothing of the other fields of the request is kept, but the words of the protocol are', () => {
  const parameters = { type: 'object', properties: { ward_name: { type: 'string', enum: ['Harbour'] } } }
  const all = readWords(
    {
      model: 'm',
      n: 1,
      stream: false,
      user: 'ada-77',
      stop: ['Amen.'],
      extra: { guide: { rule: ['sea|salt'] } },
      messages: [{ role: 'user', content: 'Hi', name: 'Lovelace' }],
      tools: [{ type: 'function', function: { name: 'find ward', description: 'Finds the ward of Ada.', parameters } }],
      response_format: { type: 'json_schema', json_schema: { name: 'diagnosis', schema: { title: 'Findings' } } },
    },
    [],
  )
  for (const [text, kept] of [
    ['Invalid user ada-77', 'Invalid user …'],
    ['stop may not have Amen. in it', 'stop may not have … in it'],
    ['No such pattern: sea|salt', 'No such pattern: …'],
    ['messages[0].name: Lovelace is too long', 'messages[0].name: … is too long'],
    ["Invalid function name 'find ward'", "Invalid function name '…'"],
    ['Bad description, or so: Finds the ward of Ada.', 'Bad description, o…'],
    ["In 'diagnosis' and ward_name: type 'object' needs 'required'", "In '…' and …: type 'object' needs 'required'"],
    ['enum has Harbour, title is Findings', 'enum has …, title is …'],
  ] as const)
    assert.equal(all(text).reason, kept)
})

test('a text that is repeated in escapes, or with other spaces, is hidden', () => {
  const text = 'Zoë said:\n\t"never" — to\\from the harbour master'
  const escaped = readWords({ model: 'm', n: 1, stream: false, messages: [{ role: 'user', content: text }] }, [])
  const ascii = JSON.stringify(text).replace(/[^ -~]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`)
  for (const echo of [JSON.stringify(text), ascii, JSON.stringify(ascii), text.replace(/\s+/g, ' ')])
    assert.doesNotMatch(escaped(`The content ${echo} is invalid`).reason!, /Zo|u00|said|never|harbour|master/, echo)
})

test('words in ideographs are kept, and those of the request are hidden in shorter pieces', () => {
  const messages: ChatMessage[] = [
    { role: 'user', content: '我的邻居在港口的旧灯塔里养了一只金丝雀。' },
    { role: 'user', content: '你好' },
  ]
  const all = readWords({ model: 'm', n: 1, stream: false, messages }, [])
  assert.equal(all('模型不存在，请检查模型代码。').reason, '模型不存在，请检查模型代码。')
  assert.equal(all('角色信息有误').reason, '角色信息有误')
  assert.doesNotMatch(all('内容“港口的旧灯塔里养了”不合规').reason!, /港口|灯塔/)
  assert.equal(all('消息你好有误').reason, '消息…有误')
})

test('what a text means is read without a long echo, but with the phrases that the request shares and names in quotes', () => {
  const content =
    "It says: This model's maximum context length is 10 tokens, then 'top_k' and the model x does not exist."
  const all = readWords({ model: 'm', n: 1, stream: false, messages: [{ role: 'user', content }] }, [])
  assert.equal(all(`Invalid content: ${content}`).own, 'Invalid con…')
  const overflow = "This model's maximum context length is 4096 tokens. However, you requested 5000."
  assert.equal(all(overflow).own, overflow)
  assert.equal(all("Unsupported parameter: 'top_k'").own, "Unsupported parameter: 'top_k'")
  assert.equal(all("Bad value: 'the model x does not exist'").own, 'Bad value: …')
})

test('a text is hidden before the words are cut', () => {
  for (const before of [78, 388, 395]) assert.doesNotMatch(words(`${'word '.repeat(before)}${PROMPT}`)!, /sister|My/)
  const cut = `Invalid: ${PROMPT.repeat(30)}`.slice(0, 2000)
  assert.equal(words(cut), 'Inv…')
})

test('what words cost does not grow with how often a text repeats, or with how much they quote', () => {
  const repeated = 'a'.repeat(900_000)
  const many = { model: 'm', n: 1, stream: false, messages: [{ role: 'user' as const, content: repeated }] }
  const read = readWords(many, [])
  const quotes = Array.from({ length: 300 }, (_, i) => `'aa${i}'`).join(' ')
  const { user } = process.cpuUsage()
  assert.equal(read(`Bad value: ${'a'.repeat(390)}`).reason, 'Bad v…')
  assert.match(read(`Bad: ${quotes}`).reason!, /'aa24' 'aa25' …$/)
  const long = { ...many, messages: [...many.messages, ...many.messages] }
  assert.equal(readWords(long, [])('Bad value').reason, undefined, 'too long to be searched')
  assert.ok(process.cpuUsage().user - user < 1_000_000, `${process.cpuUsage().user - user}`)
})

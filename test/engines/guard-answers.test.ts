import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { GUARD_FORMATS, readProbability } from '../../server/engines/moderation/guard-formats.ts'
import { law } from '../support/law.ts'

type Format = keyof typeof GUARD_FORMATS

/** Answers of each model that are verdicts, with the categories they name. */
const VERDICTS: Record<Format, { allow: string[]; block: Array<[answer: string, ...categories: string[]]> }> = {
  'llama-guard': {
    allow: ['safe'],
    block: [
      ['unsafe\nS1', 'S1'],
      ['unsafe\nS1,S14', 'S1', 'S14'],
      ['unsafe\n\nS9 , S2', 'S9', 'S2'],
      ['unsafe', 'unsafe'],
      ['unsafe S9', 'S9'],
      ['unsafe, S9', 'S9'],
      ['unsafe\nS99', 'S99'],
      ['unsafe\nO3', 'O3'],
      ['unsafe\nviolence', 'unsafe'],
      ['UNSAFE\ns9', 'S9'],
      ['Unsafe.', 'unsafe'],
      ['**unsafe**', 'unsafe'],
      ['"unsafe"', 'unsafe'],
      ['unsafe\nS9\nThe user asks how to build one.', 'S9'],
      ['unsafe\nsafe', 'unsafe'],
      ['<think>\nIs it safe?\n</think>\n\nunsafe\nS1', 'S1'],
    ],
  },
  qwen3guard: {
    allow: ['Safety: Safe\nCategories: None', 'Safety: Safe\nCategories: None\nRefusal: No'],
    block: [
      ['Safety: Unsafe\nCategories: Violent', 'Violent'],
      ['Safety: Unsafe\nCategories: Violent, PII', 'Violent', 'PII'],
      ['Safety: Unsafe\nCategories: Suicide & Self-Harm\nRefusal: No', 'Suicide & Self-Harm'],
      ['Safety: Unsafe\nCategories: None', 'None'],
      ['Safety: Controversial\nCategories: Politically Sensitive Topics', 'Politically Sensitive Topics'],
      ['Safety: Unsafe', 'unsafe'],
      ['Safety: Controversial', 'unsafe'],
      ['Safety: Unsafe Categories: Violent', 'Violent'],
      ['safety: unsafe\ncategories: violent', 'violent'],
      ['**Safety:** Unsafe', 'unsafe'],
      ['Unsafe\nCategories: Brand New', 'Brand New'],
      ['Safety: Unsafe\nCategories: Violent\nRefusal: No\nThe user asks for it.', 'Violent'],
      ['<think>\n\n</think>\n\nSafety: Unsafe\nCategories: Violent', 'Violent'],
    ],
  },
  'gpt-oss-safeguard': {
    allow: [
      '{"violation":0,"category":null,"rationale":"fine"}',
      '{ "violation": 0 }',
      '{"rationale":"it says \\"violation\\": 1 nowhere","violation":0}',
      '<think>Is it {"violation":1}? No.</think>\n{"violation":0}',
    ],
    block: [
      ['{"violation":1,"category":"weapons","rationale":"no"}', 'weapons'],
      ['{"violation":1,"policy_category":"H2.f"}', 'H2.f'],
      ['{"violation":1,"category":null}', 'violation'],
      ['{"violation":1}', 'violation'],
      ['{"violation":true}', 'violation'],
      ['{"violation":"1"}', 'violation'],
      ['{"violation":1,"violation":0}', 'violation'],
      ['Sure: {"violation":1}', 'violation'],
      ['```json\n{"violation":1,"category":"weapons"}\n```', 'weapons'],
      ['{"violation":1,"category":"weapons","rationale":"It was cut', 'weapons'],
      ['<think>Is it {"violation":0}?</think>{"violation":1}', 'violation'],
      ['{"violation":1}</think>{"violation":0}', 'violation'],
    ],
  },
  'yes-no': {
    allow: [
      ...['No', 'No.', 'no', 'NO', '<score> no </score>', '<score>No</score>'],
      ...['<think>Yes? It is a lake.</think>\n\nNo', '<think>\n</think>\nNo.', '<think>\n</think><score> no </score>'],
    ],
    block: [
      ...['Yes', 'yes', 'Yes.', 'Yes, it shows blood.', 'Yes and No', '**Yes**', 'Yes\n\n**Step 1**', '"yes"'],
      ...[
        '<score> yes </score>',
        'Yes\n<confidence> High </confidence>',
        '<think>No?</think>Yes',
        'Yes</think>No',
        'Blood.</think>Yes',
      ],
    ].map((answer) => [answer, 'policy']),
  },
}

/** Answers that say nothing in any format. */
const NOWHERE = [
  '',
  '.',
  'null',
  'true',
  '0',
  '[]',
  '{}',
  '<html><body>safe</body></html>',
  '<p>No</p>',
  'safe.',
  'Safe',
  'SAFE',
  '"safe"',
  '**safe**',
  'safe\nunsafe',
  'safe unsafe',
  'not unsafe',
  'unsafely',
  'I would call it unsafe',
  'safe\nS1',
  'saf',
  'unsaf',
  'This is safe.',
  'safe, I think',
  'assistant: safe',
  '<think>It is harmless.</think>\nsafe',
  '<think>It is unsafe, yes',
  '<think>one</think>two</think>No',
  'It is a lake.\n</think>\nNo',
  'It is fine.</think>{"violation":0}',
  'First. <think>It is harmless.</think>No',
  '<score>maybe</score>',
  '<score> no',
  'Yesterday',
  'not safe',
  'ｓａｆｅ',
  'sa\u200bfe',
  'No and Yes',
  'No\nYes',
  'No, it does not.',
  'Not at all',
  'N',
  'Nope',
  'No!',
  'Safety: Safe',
  'Safety: Safe\nCategories:',
  'Safety: Safe\nCategories: Violent',
  'Safety: Safe\nCategories: None\nSafety: Unsafe',
  'Safety: safe\nCategories: None',
  'safety: Safe\ncategories: None',
  'Safety: Safe Categories: None',
  'Safety: Sa',
  'Safety: Safe\nCategories: No',
  'Safety: Unknown\nCategories: None',
  'Result\nSafety: Safe\nCategories: None',
  '{"violation":"0"}',
  '{"violation":false}',
  '{"violation":null}',
  '{"violation":0.5}',
  '{"violation":2}',
  '{"violation":-1}',
  '{"violation":0,"violation":1}',
  '{"violation":10}',
  '{"violation":1.5}',
  '{"Violation":0}',
  '{"violation":0',
  '{"violation":0} and more',
  'Sure: {"violation":0}',
  '[{"violation":0}]',
  '"{\\"violation\\":0}"',
  '```json\n{"violation":0}\n```',
  '```\nsafe\n```',
  '{"safe":true}',
]
const FORMATS = Object.keys(GUARD_FORMATS) as Format[]
const verdictOf = (format: Format, answer: string) => GUARD_FORMATS[format].read(answer, 'block')

for (const format of FORMATS) {
  test(`${format}: the first word blocks, only the exact word allows, no word of other formats allows, and ${NOWHERE.length} more are no verdict`, () => {
    const { allow, block } = VERDICTS[format]
    for (const answer of allow)
      assert.deepEqual(verdictOf(format, answer), { verdict: 'allow', categories: [] }, answer)
    for (const [answer, ...categories] of block)
      assert.deepEqual(verdictOf(format, answer), { verdict: 'block', categories }, answer)
    const others = FORMATS.filter((other) => other !== format).flatMap((other) => [
      ...VERDICTS[other].allow,
      ...VERDICTS[other].block.map(([answer]) => answer),
    ])
    for (const answer of others) assert.notEqual(verdictOf(format, answer)?.verdict, 'allow', answer)
    for (const answer of NOWHERE) assert.equal(verdictOf(format, answer), null, answer)
  })
}

test('qwen3guard: a controversial text is allowed where the setting says so, with its categories', () => {
  assert.deepEqual(GUARD_FORMATS.qwen3guard.read('Safety: Controversial\nCategories: PII', 'allow'), {
    verdict: 'allow',
    categories: ['PII'],
  })
  assert.equal(GUARD_FORMATS.qwen3guard.read('Safety: Unsafe\nCategories: PII', 'allow')?.verdict, 'block')
  for (const unclear of ['Safety: Controversial', 'safety: controversial\ncategories: PII'])
    assert.equal(GUARD_FORMATS.qwen3guard.read(unclear, 'allow'), null, unclear)
})

test('categories are names: no sentence of an answer, and no long list of them, goes into the record', () => {
  const names = Array.from({ length: 40 }, (_, i) => `C${i}`).join(', ')
  assert.equal(verdictOf('qwen3guard', `Safety: Unsafe\nCategories: ${names}`)?.categories.length, 16)
  assert.deepEqual(verdictOf('qwen3guard', `Safety: Unsafe\nCategories: ${'x'.repeat(65)}`)?.categories, ['unsafe'])
  assert.deepEqual(verdictOf('llama-guard', 'unsafe\nfrom s1 to mp4, <d>S2!</d>')?.categories, ['S1', 'S2'])
})

law('no edit of an answer turns it into an allow that the model did not give', (seed) => {
  const answers = fc.constantFrom(
    ...FORMATS.flatMap((format) => [...VERDICTS[format].allow, ...VERDICTS[format].block.map(([answer]) => answer)]),
  )
  const pieces = fc.oneof(answers, fc.constantFrom(...NOWHERE, '\n', ' ', '"', '}', '```'), fc.string())
  const edited = fc
    .tuple(pieces, pieces, fc.nat(60), fc.nat(60))
    .map(([a, b, from, to]) => a.slice(0, from) + b + a.slice(to))
  fc.assert(
    fc.property(edited, (text) => {
      const answer = text.trim()
      for (const format of FORMATS)
        assert.equal(verdictOf(format, answer)?.verdict === 'allow', isAllow[format](answer), `${format}: ${answer}`)
    }),
    { seed, numRuns: 20_000 },
  )
})

/** Independent of the code under test. */
const isAllow: Record<Format, (answer: string) => boolean> = {
  'llama-guard': (answer) => answer === 'safe',
  qwen3guard: (answer) => {
    const [safety, categories, refusal, ...more] = answer.split(/\s*\n+/)
    return (
      safety === 'Safety: Safe' &&
      categories?.trimEnd() === 'Categories: None' &&
      (refusal === undefined || /^Refusal: (Yes|No)$/.test(refusal)) &&
      more.length === 0
    )
  },
  'gpt-oss-safeguard': (answer) => {
    try {
      const text = afterReasoning(answer)
      return JSON.parse(text)?.violation === 0 && text.split(/"violation"\s*:/).length === 2
    } catch {
      return false
    }
  },
  'yes-no': (answer) => {
    const word = afterReasoning(answer).toLowerCase()
    return ['no', 'no.', '<score>no</score>'].includes(word.replace(/(?<=>)\s+|\s+(?=<)/g, ''))
  },
}

function afterReasoning(answer: string): string {
  const marks = (answer.match(/<\/?think>/g) ?? []).join('')
  if (!marks.includes('</think>')) return answer
  return marks === '<think></think>' && answer.startsWith('<think>') ? answer.split('</think>')[1]!.trim() : 'unclear'
}

test('a probability of Yes above the threshold blocks, whichever word was chosen; without probabilities there is no verdict', () => {
  const logprobs = (...tokens: Array<[string, number]>) => ({
    content: [
      {
        token: 'No',
        logprob: -0.1,
        top_logprobs: tokens.map(([token, share]) => ({ token, logprob: Math.log(share) })),
      },
    ],
  })
  const verdict = (value: unknown, above = 0.3) => readProbability(value, above)?.verdict ?? null
  assert.equal(verdict(logprobs(['No', 0.6], ['Yes', 0.4])), 'block')
  assert.equal(verdict(logprobs(['No', 0.8], ['Yes', 0.2])), 'allow')
  assert.equal(verdict(logprobs(['No', 0.5], [' yes', 0.2], ['YES', 0.2])), 'block', 'forms of a word are added up')
  assert.equal(verdict(logprobs(['No', 0.2], ['Yes', 0.1], ['Maybe', 0.7])), 'block', 'other words do not count')
  assert.equal(verdict(logprobs(['No', 0.9])), 'allow')
  assert.equal(verdict(logprobs(['No', 0.7], ['Yes', 0.3]), 0.3), 'allow', 'above, not at')
  const nothing = [
    null,
    undefined,
    {},
    [],
    'No',
    { content: [] },
    { content: [{}] },
    logprobs(),
    logprobs(['Maybe', 1]),
    { content: 5 },
    { content: [{ top_logprobs: [{ token: 'No', logprob: -9 }, { token: 'Yes' }] }] },
  ]
  for (const value of [...nothing, { content: [{ top_logprobs: [{ token: 'No', logprob: 'x' }, null, 5] }] }])
    assert.equal(verdict(value), null, JSON.stringify(value))
  assert.equal(verdict({ content: [{ top_logprobs: [{ token: 'No', logprob: 5 }] }] }), null, 'more than certain')
  const rounded = [
    { token: 'Yes', logprob: 1.2e-7 },
    { token: 'No', logprob: -16 },
  ]
  assert.equal(verdict({ content: [{ top_logprobs: rounded }] }), 'block', 'a certain Yes, rounded up')
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type Block, NO_BLOCKS, readBlocks } from '../../../console/chat/markdown/blocks.ts'
import { type Inline, readInline, safeAddress, splitLine } from '../../../console/chat/markdown/inline.ts'
import { law } from '../../support/law.ts'

const blocks = (text: string) => readBlocks(text).blocks
const flat = (pieces: Inline[]): unknown =>
  pieces.map((piece) => {
    if (piece.kind === 'text') return piece.text
    if (piece.kind === 'code') return { code: piece.text }
    return { [piece.kind]: flat(piece.inside), ...(piece.kind === 'link' && { href: piece.href }) }
  })
const seen = (text: string) => flat(readInline(text))

test('Markdown blocks are recognized', () => {
  const text = [
    '# Title #',
    'A paragraph',
    'of two lines.',
    '',
    '1. one',
    '2. two',
    '   - inner',
    '',
    '   more of two',
    '* bullet',
    '',
    '```ts title',
    'const a = `b`',
    '',
    '```',
    '> quoted',
    '> - list',
    '---',
    '| a | b |',
    '|:-:|--:|',
    '| 1 \\| 2 | 3 |',
    '| only |',
    'The year',
    '1984. was a book.',
  ].join('\n')
  assert.deepEqual(blocks(text), [
    { kind: 'heading', level: 1, text: 'Title' },
    { kind: 'paragraph', text: 'A paragraph\nof two lines.' },
    { kind: 'item', ordered: true, number: 1, text: 'one' },
    { kind: 'item', ordered: true, number: 2, text: 'two\n- inner\n\nmore of two' },
    { kind: 'item', ordered: false, number: 0, text: 'bullet' },
    { kind: 'code', language: 'ts', text: 'const a = `b`\n' },
    { kind: 'quote', text: 'quoted\n- list' },
    { kind: 'rule' },
    {
      kind: 'table',
      aligns: ['center', 'end'],
      rows: [
        ['a', 'b'],
        ['1 | 2', '3'],
        ['only', ''],
      ],
    },
    { kind: 'paragraph', text: 'The year\n1984. was a book.' },
  ] satisfies Block[])
})

test('a fence that is not closed yet is code to the end', () => {
  assert.deepEqual(blocks('~~~\na\n```\nb'), [{ kind: 'code', language: '', text: 'a\n```\nb' }])
})

test('emphasis, code and links within a line are recognized', () => {
  assert.deepEqual(seen('a **b *c* d** _e_ ~~f~~'), [
    ...['a ', { strong: ['b ', { emphasis: ['c'] }, ' d'] }, ' ', { emphasis: ['e'] }, ' ', { struck: ['f'] }],
  ])
  assert.deepEqual(seen('***both***'), [{ emphasis: [{ strong: ['both'] }] }])
  assert.deepEqual(seen('snake_case_name and 2 * 3 * 4'), ['snake_case_name and 2 * 3 * 4'])
  assert.deepEqual(seen('`a *b*` ``c ` d``'), [{ code: 'a *b*' }, ' ', { code: 'c ` d' }])
  assert.deepEqual(seen('\\*plain\\* **open'), ['*plain* **open'])
  assert.deepEqual(seen('[a **b**](https://x.example/y_(z) "t")'), [
    { link: ['a ', { strong: ['b'] }], href: 'https://x.example/y_(z)' },
  ])
  assert.deepEqual(seen('(https://x.example/a?b=c).'), [
    ...['(', { link: ['https://x.example/a?b=c'], href: 'https://x.example/a?b=c' }, ').'],
  ])
  assert.deepEqual(seen('詳細はhttps://x.example/aを。'), [
    '詳細は',
    { link: ['https://x.example/aを'], href: 'https://x.example/a%E3%82%92' },
    '。',
  ])
  assert.deepEqual(seen('![alt](https://x.example/p.png)'), [{ link: ['alt'], href: 'https://x.example/p.png' }])
})

test('where CommonMark and GitHub differ from a naive reading, theirs is followed', () => {
  assert.deepEqual(seen('*foo **bar***'), [{ emphasis: ['foo ', { strong: ['bar'] }] }])
  assert.deepEqual(seen('*a**b**c*'), [{ emphasis: ['a', { strong: ['b'] }, 'c'] }])
  assert.deepEqual(seen('[a](<https://x.example/a b>)'), [{ link: ['a'], href: 'https://x.example/a%20b' }])
  assert.deepEqual(seen('[a [b]](https://x.example/)'), [{ link: ['a [b]'], href: 'https://x.example/' }])
  assert.deepEqual(seen('at www.x.example, or'), [
    ...['at ', { link: ['www.x.example'], href: 'http://www.x.example/' }, ', or'],
  ])
  assert.deepEqual(seen('5 &#8364; &#42;a*'), ['5 € *a*'])
  assert.deepEqual(blocks('a:\n\n    b\n      c'), [
    { kind: 'paragraph', text: 'a:' },
    { kind: 'code', language: '', text: 'b\n  c' },
  ] satisfies Block[])
})

test('emphasis, code and links in Japanese need no spaces around them, with or without brackets', () => {
  assert.deepEqual(seen('これは**「重要」**です。'), ['これは', { strong: ['「重要」'] }, 'です。'])
  assert.deepEqual(seen('**注意：**確認してください'), [{ strong: ['注意：'] }, '確認してください'])
  assert.deepEqual(seen('*（例）*を`「x」`で'), [{ emphasis: ['（例）'] }, 'を', { code: '「x」' }, 'で'])
  assert.deepEqual(seen('[「表」](https://x.example/（あ）)'), [
    { link: ['「表」'], href: 'https://x.example/%EF%BC%88%E3%81%82%EF%BC%89' },
  ])
  assert.deepEqual(seen('\ue001 \ue701 \ue814'), ['\ue001 \ue701 \ue814'])
})

test('HTML, email addresses, link definitions and task boxes are text, and nothing of them is lost', () => {
  const text = ['<div onclick="x()">', '**a** <b>c</b>', '', '[1]: https://x.example/', '', '- [x] done', '- [ ] open']
  assert.deepEqual(blocks(text.join('\n')), [
    { kind: 'paragraph', text: '<div onclick="x()">\n**a** <b>c</b>' },
    { kind: 'paragraph', text: '[1]: https://x.example/' },
    { kind: 'item', ordered: false, number: 0, text: '[x] done' },
    { kind: 'item', ordered: false, number: 0, text: '[ ] open' },
  ] satisfies Block[])
  assert.deepEqual(seen('**a** <b>c</b> <a@b.example> a@b.example'), [
    ...[{ strong: ['a'] }, ' <b>c</b> <a@b.example> a@b.example'],
  ])
})

test('an incomplete construct does not change the blocks before it', () => {
  const kinds = (text: string) => blocks(text).map(({ kind }) => kind)
  for (const half of ['Here is a list:\n-', 'Here is a rule:\n--', 'Here is more:\n=', '| a | b |\n|-'])
    assert.deepEqual(kinds(half), ['paragraph'], half)
  assert.deepEqual(kinds('| a |\n|---|\n| b |\nThen'), ['table', 'paragraph'])
  assert.deepEqual(kinds('> a\nThen'), ['quote', 'paragraph'])
})

test('a long line is read in parts that stay as they are while it grows', () => {
  const whole = 'A **few** words, 日本語も。 '.repeat(1000)
  assert.equal(splitLine(whole).join(''), whole)
  for (let end = 0; end < whole.length; end += 997) {
    const parts = splitLine(whole.slice(0, end))
    assert.ok(parts.every(({ length }) => length <= 2000))
    const next = splitLine(whole.slice(0, end + 997))
    assert.deepEqual(next.slice(0, parts.length - 1), parts.slice(0, -1))
  }
})

test('only web addresses become links', () => {
  const addresses = [
    'javascript:alert(1)',
    'JaVaScRiPt:alert(1)',
    'data:text/html,x',
    'vbscript:x',
    '//evil.example',
    '/a',
  ]
  const hidden = [
    'java\nscript:alert(1)',
    '\u0001javascript:alert(1)',
    'https:javascript:alert(1)',
    'file:///etc/passwd',
  ]
  for (const address of [...addresses, ...hidden]) {
    assert.equal(safeAddress(address), null, address)
    const pieces = [...readInline(`[x](${address})`), ...readInline(`[x](<${address}>)`), ...readInline(`<${address}>`)]
    assert.ok(!pieces.some(({ kind }) => kind === 'link'), address)
  }
  assert.equal(safeAddress('HTTPS://X.example/<script>'), 'https://x.example/%3Cscript%3E')
})

/** Pieces of Markdown that meet in unfortunate ways. */
const PIECES = [
  'a',
  ' ',
  '\n',
  '\n\n',
  '- ',
  '1. ',
  '# ',
  '> ',
  '```',
  '`',
  '**',
  '*',
  '_',
  '~~',
  '|',
  '|-|',
  '  ',
  '[x](',
  ')',
  '---',
  'http://a.b',
  ...['\r\n', '    ', '* ', '2) ', '| a | b |\n|-|-|\n', '<div>', '===', '- [ ] '],
]
const markdown = fc.array(fc.constantFrom(...PIECES), { maxLength: 60 }).map((pieces) => pieces.join(''))

law('a text read piece by piece as it grows gives the blocks it gives when read at once', (seed) => {
  fc.assert(
    fc.property(markdown, fc.integer({ min: 1, max: 7 }), (text, size) => {
      let grown = NO_BLOCKS
      for (let end = size; end < text.length + size; end += size) grown = readBlocks(text.slice(0, end), grown)
      assert.deepEqual(grown.blocks, blocks(text))
    }),
    { seed, numRuns: 2000 },
  )
})

law('nothing of a line is lost but the marks around it', (seed) => {
  const textOf = (pieces: Inline[]): string =>
    pieces.map((piece) => ('text' in piece ? piece.text : textOf(piece.inside))).join('')
  const words = (text: string) => text.replace(/[^ab]/g, '')
  const line = fc.array(fc.constantFrom('a', 'b ', '`', '**', '*', '_', '~~', '\\', '[', ']', '(', '!', '<', 'h'), {
    maxLength: 60,
  })
  fc.assert(
    fc.property(line, (pieces) => {
      const text = pieces.join('')
      assert.equal(words(textOf(readInline(text))), words(text))
    }),
    { seed, numRuns: 2000 },
  )
})

test('blocks that are done stay the same objects while a text grows, and are not read again', () => {
  const whole = Array.from({ length: 2000 }, (_, i) => `Paragraph ${i} with **bold** text.`).join('\n\n')
  let grown = NO_BLOCKS
  for (let end = 0; end < whole.length; end += 40) {
    const next = readBlocks(whole.slice(0, end), grown)
    const done = Math.max(0, grown.blocks.length - 2)
    assert.ok(grown.blocks.slice(0, done).every((block, i) => block === next.blocks[i]))
    grown = next
  }
})

test('hostile text is read in time proportional to its length', () => {
  const n = 50_000
  const corpus = [
    '[',
    '*a ',
    '**a *b ',
    '`',
    '_a',
    '~~',
    '[x](',
    '![',
    '<',
    'http://',
    '\\',
    '> ',
    '- ',
    '#',
    '|',
    '```\n',
    ' ',
    '. ',
    ...['a*', '_a_b', '- a\n', '1. ', '>a\n', '](', '<a', 'a@b.c', '|a|b\n', '。**'],
  ]
  for (const piece of corpus) {
    const text = piece.repeat(n / piece.length)
    readInline(text)
    readBlocks(text)
    readBlocks(`# ${text}x`)
    readBlocks(`\`\`\`${text}\``)
    readInline(`http://a${text}b`)
  }
})

import type { UpstreamReply } from '../chat-upstream.ts'
import { call, calls, end, type FieldReply, last, READS_ITSELF, stream, whole } from './frames.ts'

const LOOK = '{"at":1}'
const GO = '{"to":2}'
const PAIR = [
  ['look', LOOK],
  ['go', GO],
] as const
const SAME = [
  ['look', LOOK],
  ['look', GO],
] as const

/** A call without the members that are undefined. */
const part = (more: { index?: number; id?: string }, name: string, piece: string) => ({
  ...more,
  type: 'function',
  function: { name, arguments: piece },
})
const inOne = (list: readonly object[]) => stream([calls(list), end('tool_calls'), last()])
const inTurn = (list: readonly object[]) => stream([...list.map((each) => calls([each])), end('tool_calls'), last()])
const inJson = (list: readonly object[]): UpstreamReply => ({
  kind: 'json',
  body: whole({ content: null, tool_calls: list }, 'tool_calls'),
})

/** Two calls that differ in their names and arguments alone, by the index and id that they come with. */
const MARKS: Readonly<Record<string, readonly [object, object]>> = {
  'one index and empty ids': [
    { index: 0, id: '' },
    { index: 0, id: '' },
  ],
  'one index and no ids': [{ index: 0 }, { index: 0 }],
  'one index and one id': [
    { index: 0, id: 'a' },
    { index: 0, id: 'a' },
  ],
  'one id and no index': [{ id: 'look' }, { id: 'look' }],
  'one index, an id and an empty one': [
    { index: 0, id: 'a' },
    { index: 0, id: '' },
  ],
}
const SENT = { 'in one delta': inOne, 'in two deltas': inTurn, 'in JSON': inJson }

/** Tool calls whose index and id say enough of which call they belong to, or do not. */
export const CALLS: Readonly<Record<string, FieldReply>> = {
  ...Object.fromEntries(
    Object.entries(MARKS).flatMap(([mark, [first, second]]) =>
      Object.entries(SENT).flatMap(([where, reply]): Array<[string, FieldReply]> => {
        const reads = where === 'in JSON' && mark.includes('one id') ? { package: READS_ITSELF } : {}
        return [
          [
            `two calls ${where} under ${mark}`,
            { reply: reply([part(first, 'look', LOOK), part(second, 'go', GO)]), calls: PAIR, ...reads },
          ],
          [
            `two calls of one name ${where} under ${mark}`,
            { reply: reply([part(first, 'look', LOOK), part(second, 'look', GO)]), calls: SAME, ...reads },
          ],
        ]
      }),
    ),
  ),
  'two calls of one name in pieces under one index and empty ids': {
    reply: inTurn([
      ...['{"at"', ':1}', '', '{"to"', ':2}'].map((piece) => part({ index: 0, id: '' }, 'look', piece)),
      part({ index: 0, id: '' }, '', ''),
    ]),
    calls: SAME,
  },
  'two calls whose pieces have no names under one index': {
    reply: inTurn([
      ...[part({ index: 0, id: '' }, 'look', ''), part({ index: 0 }, '', LOOK)],
      ...[part({ index: 0, id: '' }, 'look', ''), part({ index: 0 }, '', '{"to"'), part({ index: 0 }, '', ':2}')],
    ]),
    calls: SAME,
    package: READS_ITSELF,
  },
  'two calls without arguments under one index': {
    reply: inTurn([part({ index: 0, id: 'x' }, 'now', ''), part({ index: 0, id: 'y' }, 'now', '')]),
    calls: [
      ['now', '{}'],
      ['now', '{}'],
    ],
    package: READS_ITSELF,
  },
  'pieces under new ids and no index': {
    reply: inTurn([
      ...[part({ id: 'x' }, 'look', '{"at"'), part({ id: 'y' }, 'look', ':1}')],
      ...[part({ id: 'z' }, 'go', ''), { id: 'w', function: { arguments: GO } }],
    ]),
    calls: PAIR,
    package: READS_ITSELF,
  },
  'tokens of the template behind the name of a call': {
    reply: inTurn([call(0, 'a', 'look<|channel|>commentary', LOOK), call(1, 'b', 'go <|constrain|>json', GO)]),
    calls: PAIR,
  },
  'two calls whose indexes are texts': {
    reply: inTurn([
      ...[call(0, 'a', 'look', '', { index: '0' }), call(1, 'b', 'look', '', { index: '1' })],
      ...[
        { index: '0', function: { arguments: LOOK } },
        { index: '1', function: { arguments: GO } },
      ],
    ]),
    calls: SAME,
    package: READS_ITSELF,
  },
  'a call, and again with the same id': {
    reply: inTurn([call(0, 'a', 'look', LOOK), call(0, 'a', 'look', LOOK)]),
    calls: [['look', LOOK]],
    package: READS_ITSELF,
  },
  'a call in both of its forms': {
    reply: stream([
      {
        ...last(),
        choices: [
          {
            index: 0,
            delta: { tool_calls: [call(0, 'a', 'look', LOOK)], function_call: { name: 'look', arguments: LOOK } },
            finish_reason: 'tool_calls',
          },
        ],
      },
    ]),
    calls: [['look', LOOK]],
  },
  'a call, and an entry that is empty': {
    reply: inTurn([call(0, 'a', 'look', LOOK), call(1, 'q', '', '')]),
    calls: [['look', LOOK]],
  },
  'a call, and an entry that is empty, in JSON': {
    reply: inJson([call(0, 'a', 'look', LOOK), call(1, 'q', '', '')]),
    calls: [['look', LOOK]],
    package: READS_ITSELF,
  },
}

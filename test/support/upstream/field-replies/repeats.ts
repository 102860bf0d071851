import { call, calls, end, type FieldReply, last, READS_ITSELF, stream, whole } from './frames.ts'

const LOOK = '{"at":1}'
const HALVES = ['{"at"', ':1}'] as const

type Piece = Record<string, unknown>

const head = (piece = '', more: Piece = {}): Piece => ({ ...call(0, 'a', 'look', piece), ...more })
/** A piece with the index alone. */
const rest = (piece: unknown): Piece => ({ index: 0, function: { arguments: piece } })
const named = (piece: string): Piece => ({ index: 0, type: 'function', function: { name: 'look', arguments: piece } })
const inTurn = (list: readonly Piece[]) => stream([...list.map((each) => calls([each])), end('tool_calls'), last()])

/** Arguments that come twice, or not where they belong. Each is one call. */
export const REPEATS: Readonly<Record<string, FieldReply>> = {
  ...one({
    'again without a name': [head(), rest(LOOK), rest(LOOK)],
    'again after its pieces': [head(), ...HALVES.map(rest), rest(LOOK)],
    'again in pieces': [head(), ...HALVES.map(rest), ...HALVES.map(rest)],
    'again with its name': [head(), ...HALVES.map(rest), named(LOOK)],
    'again in pieces with its name': [head(), ...HALVES.map(rest), ...HALVES.map(named)],
    'again with its id and other spaces': [head(LOOK), head('{ "at": 1 }')],
    'again with its id, encoded twice': [head(), ...HALVES.map(rest), head(JSON.stringify(LOOK))],
    'again with its id under another index': [head(), rest(LOOK), head(LOOK, { index: 1 })],
    'again with its id in pieces under another index': [
      ...[head(LOOK), head('', { index: 1 }), { ...rest(HALVES[0]), index: 1 }, { ...rest(HALVES[1]), index: 1 }],
    ],
    'three times in one piece': [head(LOOK.repeat(3))],
    'from the start in each piece': [head(), ...['{', '{"at"', '{"at":', LOOK, LOOK].map(rest)],
    'from the start in each piece with its name': [head(), ...['{"a', '{"at"', LOOK].map((piece) => head(piece))],
    'after {}': [head('{}'), ...HALVES.map(rest)],
    'after {} as an object': [head('', { function: { name: 'look', arguments: {} } }), ...HALVES.map(rest)],
    'after {} with its id': [head('{}'), head(LOOK)],
    'after null': [head('null'), rest(LOOK)],
    'with a bracket too many': [head(LOOK), rest('}')],
    'with brackets too many in the piece': [head(`${LOOK}]}`)],
    'encoded twice': [head(JSON.stringify(LOOK))],
    'in parameters': [head('', { function: { name: 'look', parameters: { at: 1 } } })],
    'without function': [{ id: 'a', type: 'function', name: 'look', arguments: { at: 1 } }],
  }),
  'a call with {} twice': { reply: inTurn([head('{}'), rest('{}')]), calls: [['look', '{}']], package: READS_ITSELF },
  'a call with null': { reply: inTurn([head('null')]), calls: [['look', '{}']], package: READS_ITSELF },
  'calls of one name in the arguments of one': {
    reply: inTurn([head('{"at":1}{"at":2} {"at":2}'), rest('{"at"'), rest(':3}')]),
    calls: [1, 2, 3].map((at) => ['look', `{"at":${at}}`]),
    package: READS_ITSELF,
  },
  'calls of one name in the arguments of one, in JSON': {
    reply: {
      kind: 'json',
      body: whole({ content: null, tool_calls: [call(0, 'a', 'look', '{"at":1}{"at":2}')] }, 'tool_calls'),
    },
    calls: [1, 2].map((at) => ['look', `{"at":${at}}`]),
    package: READS_ITSELF,
  },
}

function one(replies: Readonly<Record<string, readonly Piece[]>>): Record<string, FieldReply> {
  return Object.fromEntries(
    Object.entries(replies).map(([name, pieces]) => [
      `a call with its arguments ${name}`,
      { reply: inTurn(pieces), calls: [['look', LOOK]], package: READS_ITSELF },
    ]),
  )
}

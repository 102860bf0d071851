import assert from 'node:assert/strict'
import { test } from 'node:test'
import { describeFlags, parseFlags, rejectArguments, UsageError } from './flags.ts'

const FLAGS = {
  name: { value: '<text>', help: 'What it is called', required: true },
  note: { value: '<text>', help: 'Why' },
  image: { value: '<path>', help: 'A picture', multiple: true },
  json: { help: 'Print JSON' },
} as const

test('flags are read in both spellings, in any order, between other arguments', () => {
  const { given, positionals } = parseFlags(['a', '--name=x y', '--json', '--image', '1', 'b', '--image=2'], FLAGS)
  assert.deepEqual(given, { name: 'x y', note: undefined, image: ['1', '2'], json: true })
  assert.deepEqual(positionals, ['a', 'b'])
})

test('a value may begin with a dash when it follows an equals sign', () => {
  assert.equal(parseFlags(['--name=-5'], FLAGS).given.name, '-5')
})

test('every mistake names its flag', () => {
  const mistakes: Array<[string[], RegExp]> = [
    [['--name', 'a', '--nmae', 'b'], /--nmae/],
    [[], /--name .* is required: /],
    [['--name='], /--name is empty/],
    [['--name'], /--name/],
    [['--name', 'a', '--json=yes'], /--json/],
  ]
  for (const [args, message] of mistakes) {
    assert.throws(
      () => parseFlags(args, FLAGS),
      (error: unknown) => error instanceof UsageError && message.test(error.message) && !error.message.includes('\n'),
    )
  }
})

test('an argument that no command takes is named, unless it may be the value of a flag', () => {
  rejectArguments(['--note', 'my'], [])
  assert.throws(() => rejectArguments(['extra', '--note', 'my'], ['extra']), { message: 'unexpected argument extra' })
  assert.throws(() => rejectArguments(['--note', 'my', 'secret'], ['secret']), { message: /^(?!.*secret)unexpected/ })
})

test('the help names each flag with the value it takes and whether it is required', () => {
  assert.deepEqual(describeFlags(FLAGS).split('\n'), [
    '  --name <text>   What it is called (required)',
    '  --note <text>   Why',
    '  --image <path>  A picture',
    '  --json          Print JSON',
  ])
})

test('the first positional argument is the value of the flag that needs no name, even if another flag has the same value', () => {
  const flags = {
    id: { value: '<id>', help: 'An id', required: true },
    org: { value: '<org>', help: 'Another' },
  } as const
  for (const args of [
    ['x', '--org', 'x'],
    ['--org=x', 'x'],
    ['--id', 'x', '--org', 'x'],
  ])
    assert.deepEqual(parseFlags(args, flags, { first: 'id' }), { given: { id: 'x', org: 'x' }, positionals: [] })
  assert.deepEqual(parseFlags(['x', '--id', 'y'], flags, { first: 'id' }).positionals, ['x'])
  assert.throws(() => parseFlags(['--org', 'x'], flags, { first: 'id' }), { name: 'UsageError' })
})

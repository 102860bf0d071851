import type { Way } from './way.ts'

const ALL = ['job', 'response', 'chat', 'stream'] as const

/** What happens to the process of a node. */
export const processes: readonly Way[] = [
  {
    name: 'kill',
    what: '`kill -9` of a node',
    seconds: { long: 20, short: 4 },
    break: ({ nodes }) => nodes.a.kill(),
    repair: ({ nodes }) => nodes.a.start(),
    expects: { a: /^down/, goes_on: ALL },
  },
  {
    name: 'frozen-node',
    what: 'A node is frozen (`SIGSTOP`)',
    // Longer than a lease.
    seconds: { long: 30, short: 4 },
    break: ({ nodes }) => nodes.a.signal('SIGSTOP'),
    repair: ({ nodes }) => nodes.a.signal('SIGCONT'),
    expects: { a: /^silent/, goes_on: ALL, alerts: ['KinoraDown'] },
  },
  {
    name: 'clock',
    what: 'The clock of a node is an hour ahead',
    seconds: { long: 30, short: null },
    break: ({ nodes }) => nodes.a.signal('SIGUSR2'),
    repair: ({ nodes }) => nodes.a.signal('SIGUSR2'),
    expects: { goes_on: ALL, unnoticed: true },
  },
  {
    name: 'upgrade',
    what: 'One node after the other is stopped and replaced',
    seconds: { long: 5, short: null },
    async break({ nodes }) {
      await nodes.a.replace()
      await nodes.b.replace()
    },
    expects: { a: /^draining/, b: /^draining/, goes_on: ALL, unnoticed: true },
  },
]

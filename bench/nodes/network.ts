import { spawnSync } from 'node:child_process'

/** Addresses of this machine that every node reaches: the database over a cable of its own, everything else over the other. */
export const SERVICES_ADDRESS = '10.77.255.1'
export const DATABASE_ADDRESS = '10.78.255.1'

/** A machine of its own, as a network namespace of Linux. */
export type Machine = {
  name: string
  /** Where this machine reaches it. */
  address: string
  /** Runs a program there. */
  command(program: string, args: readonly string[]): [program: string, args: string[]]
  /** Pulls the cable to the database: packets are lost, and nobody hears of it. */
  cut(): void
  mend(): void
}

export type Network = { machines: readonly Machine[]; close(): void }

/**
 * Makes one namespace for each name, each joined to this machine by two cables (veth pairs). Needs root and the program `ip`.
 * Throws when a command fails; `close` takes everything away, also what an earlier run left behind.
 */
export function openNetwork(names: readonly string[]): Network {
  const close = () => {
    for (const [i, name] of names.entries()) {
      tryIp('netns', 'del', name)
      for (const cable of [`kin-front${i}`, `kin-data${i}`]) tryIp('link', 'del', cable)
    }
    for (const address of [SERVICES_ADDRESS, DATABASE_ADDRESS]) tryIp('addr', 'del', `${address}/32`, 'dev', 'lo')
  }
  close()
  for (const address of [SERVICES_ADDRESS, DATABASE_ADDRESS]) ip('addr', 'add', `${address}/32`, 'dev', 'lo')
  return { machines: names.map((name, i) => join(name, i)), close }
}

function join(name: string, i: number): Machine {
  const there = ['-n', name]
  ip('netns', 'add', name)
  ip(...there, 'link', 'set', 'lo', 'up')
  for (const [cable, subnet] of [
    ['front', `10.77.${i}`],
    ['data', `10.78.${i}`],
  ] as const) {
    const here = `kin-${cable}${i}`
    ip('link', 'add', here, 'type', 'veth', 'peer', 'name', cable, 'netns', name)
    ip('addr', 'add', `${subnet}.1/24`, 'dev', here)
    ip('link', 'set', here, 'up')
    ip(...there, 'addr', 'add', `${subnet}.2/24`, 'dev', cable)
    ip(...there, 'link', 'set', cable, 'up')
  }
  ip(...there, 'route', 'add', `${SERVICES_ADDRESS}/32`, 'via', `10.77.${i}.1`)
  ip(...there, 'route', 'add', `${DATABASE_ADDRESS}/32`, 'via', `10.78.${i}.1`)
  return {
    name,
    address: `10.77.${i}.2`,
    command: (program, args) => ['ip', ['netns', 'exec', name, program, ...args]],
    cut: () => ip('link', 'set', `kin-data${i}`, 'down'),
    mend: () => ip('link', 'set', `kin-data${i}`, 'up'),
  }
}

function ip(...args: string[]): void {
  const { status, stderr } = spawnSync('ip', args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`ip ${args.join(' ')}: ${stderr}`)
}

function tryIp(...args: string[]): void {
  spawnSync('ip', args)
}

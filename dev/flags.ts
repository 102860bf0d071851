import { parseArgs } from 'node:util'
import type { ConfigFlags } from '../server/config/load.ts'
import { StartError } from '../server/platform/start-error.ts'

/** The flags of `kinora serve` that `npm run dev` takes too. Throws StartError for any other. */
export function readDevFlags(args: string[]): ConfigFlags {
  const text = { type: 'string' } as const
  try {
    const { values } = parseArgs({ args, options: { host: text, port: text, 'data-dir': text, config: text } })
    const { 'data-dir': data_dir, ...rest } = values
    return { ...rest, data_dir }
  } catch (error) {
    throw new StartError((error as Error).message)
  }
}

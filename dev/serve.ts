import { serveUntilStopped } from '../server/cli/serve.ts'
import { loadConfig } from '../server/config/load.ts'
import { engineMistakes } from '../server/engines/registry.ts'
import { StartError } from '../server/platform/start-error.ts'
import { readDevFlags } from './flags.ts'
import { DEV_PORT, DEV_URL } from './watch.ts'

/** The service as `npm run dev` runs it: one process on the given port, whose public URL is that of the console. */
try {
  const { host: _, port: __, ...flags } = readDevFlags(process.argv.slice(2))
  const port = Number(process.env[DEV_PORT])
  process.exitCode = await serveUntilStopped(() => {
    const config = loadConfig(flags, process.env, engineMistakes)
    const public_url = config.public_url ?? process.env[DEV_URL] ?? null
    return { ...config, host: '127.0.0.1', port, public_url, workers: 1 }
  })
} catch (error) {
  if (!(error instanceof StartError)) throw error
  process.stderr.write(`kinora: ${error.message}\n`)
  process.exitCode = 1
}

import { once } from 'node:events'
import { createServer as createTcpServer } from 'node:net'
import { join } from 'node:path'
import { createServer, type Plugin } from 'vite'
import { loadConfig } from '../server/config/load.ts'
import { StartError } from '../server/platform/start-error.ts'
import { readDevFlags } from './flags.ts'
import { type WatchedService, watchService } from './watch.ts'

/** Paths that the service answers; any other is a page or module of the console. A test compares it with `/openapi.json`. */
const OF_THE_SERVICE = /^\/(v1|console|docs|terms|healthz|readyz|metrics|openapi\.json)(\/|\?|$)/

/**
 * `npm run dev`: console and service at one address, both up to date with their files. Vite answers there and replaces modules of the console
 * in the browser as they change; the service behind it restarts when its own files change. Runs until SIGINT or SIGTERM. Takes
 * `--host`, `--port`, `--data-dir` and `--config` as `kinora serve` does, and the same environment.
 */
async function runDev(args: string[]): Promise<void> {
  const { host, port } = loadConfig(readDevFlags(args), process.env, null)
  const service_port = await freePort()
  let service: WatchedService | null = null
  const vite = await createServer({
    configFile: join(import.meta.dirname, '..', 'console', 'vite.config.ts'),
    server: {
      host,
      port,
      strictPort: true,
      proxy: { [OF_THE_SERVICE.source]: { target: `http://127.0.0.1:${service_port}`, ws: true } },
    },
    plugins: [holdUntil(() => service?.settled())],
  })
  // Vite would end the process at this signal, before the service has shut down its database.
  process.removeAllListeners('SIGTERM')
  const stopped = new Promise<void>((resolve) => process.once('SIGINT', resolve).once('SIGTERM', resolve))
  await vite.listen()
  const url = vite.resolvedUrls!.local[0]!.replace(/\/$/, '')
  service = watchService({ args, port: service_port, public_url: url })
  await Promise.race([service.settled(), stopped])
  process.stdout.write(`kinora dev on ${url}\n`)
  await stopped
  await Promise.all([vite.close(), service.stop()])
}

/** Requests for a service that is starting wait for it, so that a page can be loaded again right after a change. */
function holdUntil(settled: () => Promise<void> | undefined): Plugin {
  return {
    name: 'kinora:hold',
    configureServer({ middlewares }) {
      middlewares.use(({ url = '' }, _response, next) => {
        if (!OF_THE_SERVICE.test(url)) return next()
        void Promise.resolve(settled()).then(() => next())
      })
    },
  }
}

/** A free port; the service keeps it across restarts. */
async function freePort(): Promise<number> {
  const server = createTcpServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  return port
}

try {
  await runDev(process.argv.slice(2))
} catch (error) {
  if (!(error instanceof StartError)) throw error
  process.stderr.write(`kinora: ${error.message}\n`)
  process.exitCode = 1
}

#!/usr/bin/env node
import { enableCompileCache } from 'node:module'
import { join } from 'node:path'
import { preferBundledPackages } from './platform/start/bundled-packages.ts'
import { startInLittleMemory } from './platform/start/memory.ts'
import { VERSION } from './platform/start/version.ts'
import { StartError } from './platform/start-error.ts'

startInLittleMemory()
const node_modules = join(import.meta.dirname, '..', 'node_modules')
// What saves time at the start is kept beside the packages, where only whoever may change the code can write.
const cache = join(node_modules, '.cache', 'kinora')
enableCompileCache(cache)
preferBundledPackages({ dir: join(cache, 'packages'), node_modules })

const USAGE = `kinora <command>

  serve     run the service (--host, --port, --data-dir, --config, --workers, --role)
  migrate   bring the database up to date and exit
  render    submit a video job and download the clip: kinora render "<prompt>"
  check     try a running service from outside: kinora check --url https://…
  demo      from sign-in to MP4, on a service of its own
  engines   what the engines of your configuration keep of their promises: kinora engines check [<model>]
  admin     organizations, people, keys, credits, jobs, audit: kinora admin --help
  --version
`

/** The `kinora` command. Each subcommand is loaded only when it is asked for. */
async function main([command, ...args]: string[]): Promise<number> {
  switch (command) {
    case 'serve':
      return (await import('./cli/serve.ts')).runServe(args, process.env)
    case 'migrate':
      return (await import('./cli/migrate.ts')).runMigrate(args, process.env)
    case 'render':
      return (await import('./cli/render.ts')).runRender(args, process.env)
    case 'check':
      return (await import('./cli/check/check.ts')).runServiceCheck(args, process.env)
    case 'demo':
      return (await import('./cli/demo/demo.ts')).runDemo(args, process.env)
    case 'engines':
      return (await import('./cli/engines/engines.ts')).runEngines(args, process.env)
    case 'admin':
      return (await import('./cli/admin/admin.ts')).runAdmin(args, process.env)
    case '--version':
    case 'version':
      process.stdout.write(`${VERSION}\n`)
      return 0
    case '--help':
    case '-h':
    case 'help':
      process.stdout.write(USAGE)
      return 0
    default:
      // What follows an equals sign may be a secret.
      process.stderr.write(
        command === undefined ? USAGE : `kinora: unknown command ${command.split('=', 1)[0]}\n\n${USAGE}`,
      )
      return 2
  }
}

try {
  process.exitCode = await main(process.argv.slice(2))
} catch (error) {
  if (!(error instanceof StartError)) throw error
  process.stderr.write(`kinora: ${error.message}\n`)
  process.exitCode = 1
}

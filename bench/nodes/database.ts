import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { packagedPrograms } from '../../server/platform/postgres/programs.ts'
import { chooseUser, makeOwnedDir } from '../../server/platform/postgres/user.ts'

/** A PostgreSQL that answers on the network, as an operator's does. `url` names its database `kinora`. */
export async function startDatabase(dir: string, host: string): Promise<{ url: string; stop(): Promise<void> }> {
  const cluster = join(dir, 'postgres')
  mkdirSync(dir, { recursive: true })
  const run_as = chooseUser(cluster)
  const { bin } = packagedPrograms({ run_as, home: dir })
  makeOwnedDir(cluster, run_as)
  const as = { ...run_as, cwd: cluster, stdio: 'ignore' } as const
  // As its working directory: its user need not reach the path.
  const here = ['-D', '/proc/self/cwd']
  const made = spawn(join(bin, 'initdb'), [...here, '--username=kinora', '--auth=trust', '--encoding=UTF8'], as)
  if ((await once(made, 'exit'))[0] !== 0) throw new Error('initdb failed')
  const port = 5477
  const settings = {
    listen_addresses: host,
    port,
    unix_socket_directories: '',
    max_connections: 200,
    log_min_messages: 'fatal',
  }
  const given = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  // Any address of the namespaces.
  const hba = ['-c', 'hba_file=/proc/self/cwd/any.conf']
  writeFileSync(join(cluster, 'any.conf'), 'host all all 0.0.0.0/0 trust\n', { mode: 0o644 })
  const server = spawn(join(bin, 'postgres'), [...here, ...given, ...hba], as)
  const url = `postgres://kinora@${host}:${port}/postgres`
  await untilItAnswers(url)
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query('create database kinora')
  await client.end()
  return {
    url: url.replace(/postgres$/, 'kinora'),
    async stop() {
      const gone = once(server, 'exit')
      server.kill('SIGINT')
      await gone
    },
  }
}

async function untilItAnswers(url: string): Promise<void> {
  for (;;) {
    const client = new pg.Client({ connectionString: url })
    try {
      await client.connect()
      return await client.end()
    } catch {
      await pause(50)
    }
  }
}

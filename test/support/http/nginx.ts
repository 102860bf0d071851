import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../listen.ts'
import { childrenOf } from '../processes.ts'

/** Why what needs nginx is skipped, or false. */
export const withoutNginx =
  process.platform !== 'linux'
    ? 'reads /proc: run it on Linux'
    : spawnSync('nginx', ['-v']).error
      ? 'no nginx here: install nginx'
      : false

/** `pid`: of its one worker. `reload` has another worker take its place, which ends once its requests have. */
export type Nginx = { url: string; pid: number; reload(): void; stop(): Promise<void> }

type Command = (program: string, args: string[]) => [string, string[]]

/** An nginx on a free port of loopback, with these locations. `command` may put another program before it. */
export async function startNginx(locations: string, command?: Command): Promise<Nginx> {
  return startNginxServers((port) => `server { listen 127.0.0.1:${port}; ${locations} }`, command)
}

/** An nginx whose servers, of which one listens on the free port, stand in `servers` with all that belongs beside them. */
export async function startNginxServers(
  servers: (port: number) => string,
  command: Command = (program, args) => [program, args],
): Promise<Nginx> {
  const dir = mkdtempSync(join(tmpdir(), 'kinora-nginx-'))
  const port = await freePort()
  const config = join(dir, 'nginx.conf')
  const log = join(dir, 'error.log')
  writeFileSync(config, configOf({ dir, servers: servers(port) }))
  const [program, args] = command('nginx', ['-c', config, '-e', log])
  const master = spawn(program, args, { stdio: 'ignore' })
  const pid = await workerOf(master, log)
  return {
    url: `http://127.0.0.1:${port}`,
    pid,
    reload: () => void master.kill('SIGHUP'),
    async stop() {
      const gone = once(master, 'exit')
      master.kill('SIGTERM')
      await gone
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

function configOf({ dir, servers }: { dir: string; servers: string }): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path ${dir}/${kind};`,
  )
  const user = process.getuid?.() === 0 ? 'user root;' : ''
  return `daemon off; ${user} worker_processes 1; pid ${dir}/pid;
events { worker_connections 1024; }
http { access_log off; keepalive_requests 1000000; ${temporary.join(' ')}
  ${servers} }
`
}

/** Its worker: the port is open before there is one. */
async function workerOf(master: ChildProcess, log: string): Promise<number> {
  for (;;) {
    if (master.exitCode !== null) throw new Error(`nginx ended: ${readFileSync(log, 'utf8')}`)
    const [worker] = childrenOf(master.pid!)
    if (worker !== undefined) return worker
    await sleep(25)
  }
}

import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pinned } from '../support/cores.ts'

/** In place of its figure. */
export const NO_NGINX = 'not installed'

export type Nginx = { url: string; pid: number; stop(): Promise<void> }

/** One nginx worker on loopback with `location` as its only location. Null when nginx is not installed. */
export async function startNginx(location: string): Promise<Nginx | null> {
  if (spawnSync('nginx', ['-v']).error) return null
  const dir = mkdtempSync(join(tmpdir(), 'kinora-bench-nginx-'))
  const port = await freePort()
  const config = join(dir, 'nginx.conf')
  writeFileSync(config, configOf({ dir, port, location }))
  const [command, args] = pinned('subject', 'nginx', ['-c', config, '-e', join(dir, 'error.log')])
  const master = spawn(command, args, { stdio: 'ignore' })
  const url = `http://127.0.0.1:${port}`
  const pid = await workerOf(master.pid!)
  return {
    url,
    pid,
    async stop() {
      const gone = once(master, 'exit')
      master.kill('SIGTERM')
      await gone
      rmSync(dir, { recursive: true, force: true })
    },
  }
}

/** nginx in front of a server, with connections kept. */
export function startNginxProxy({ url }: { url: string }, more = ''): Promise<Nginx | null> {
  const kept = 'proxy_http_version 1.1; proxy_set_header Connection "";'
  return startNginx(`proxy_pass ${new URL(url).origin}; ${kept} ${more}`)
}

function configOf({ dir, port, location }: { dir: string; port: number; location: string }): string {
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path ${dir}/${kind};`,
  )
  const user = process.getuid?.() === 0 ? 'user root;' : ''
  return `daemon off; ${user} worker_processes 1; pid ${dir}/pid;
events { worker_connections 1024; }
http { access_log off; keepalive_requests 1000000; ${temporary.join(' ')}
  server { listen 127.0.0.1:${port}; location / { ${location} } } }
`
}

async function workerOf(master: number): Promise<number> {
  for (let tries = 0; tries < 200; tries++) {
    const children = readFileSync(`/proc/${master}/task/${master}/children`, 'utf8').trim()
    if (children) return Number(children.split(' ')[0])
    await sleep(25)
  }
  throw new Error('nginx did not start')
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  await new Promise((resolve) => server.close(resolve))
  return port
}

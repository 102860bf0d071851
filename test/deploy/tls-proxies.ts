import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { printed } from '../support/command.ts'
import { startNginxServers, withoutNginx } from '../support/http/nginx.ts'
import { freePort } from '../support/listen.ts'
import { ROOT } from '../support/sources.ts'

/** `ca`: the certificate that a client must trust, in PEM form. `access_log`: the file that requests are logged to, where they are. */
export type TlsProxy = { url: string; ca: string; access_log?: string; stop(): Promise<void> }

export type TlsProxyKind = {
  name: string
  /** Why its tests are skipped, or false. */
  skip: string | false
  /** With TLS on loopback, before two nodes at these addresses: `host:port`. */
  start(nodes: [string, string]): Promise<TlsProxy>
}

const missing = (program: string) => (spawnSync(program, ['version']).error ? `no ${program} here: install it` : false)

/** The proxies that `deploy/` has a configuration for, each started with that file. */
export const TLS_PROXIES: readonly TlsProxyKind[] = [
  { name: 'nginx', skip: withoutNginx || missing('openssl'), start: startNginxSite },
  { name: 'Caddy', skip: missing('caddy') || missing('openssl'), start: startCaddySite },
]

async function startNginxSite(nodes: [string, string]): Promise<TlsProxy> {
  const files = certificate()
  const plain = await freePort()
  const nginx = await startNginxServers((port) =>
    replaced('nginx.conf', nodes, [
      ['listen 80;', `listen 127.0.0.1:${plain};`],
      ['listen 443 ssl', `listen 127.0.0.1:${port} ssl`],
      ['/etc/ssl/kinora/fullchain.pem', files.cert],
      ['/etc/ssl/kinora/privkey.pem', files.key],
      // Of both ports.
      ...Array(2).fill(['access_log /var/log/nginx/access.log ', `access_log ${files.access_log} `]),
    ]),
  )
  return {
    url: nginx.url.replace('http:', 'https:'),
    ca: files.ca,
    access_log: files.access_log,
    async stop() {
      await nginx.stop()
      files.remove()
    },
  }
}

async function startCaddySite(nodes: [string, string]): Promise<TlsProxy> {
  const files = certificate()
  const port = await freePort()
  const site = `https://127.0.0.1:${port} {\n\ttls ${files.cert} ${files.key}\n\tbind 127.0.0.1`
  const config = join(files.dir, 'Caddyfile')
  const global = '{\n\tadmin off\n\tauto_https off\n}\n'
  writeFileSync(config, global + replaced('Caddyfile', nodes, [['{$KINORA_SITE:kinora.example.com} {', site]]))
  const env = { PATH: process.env.PATH, HOME: files.dir, XDG_DATA_HOME: files.dir, XDG_CONFIG_HOME: files.dir }
  const caddy = spawn('caddy', ['run', '--adapter', 'caddyfile', '--config', config], { env, stdio: 'pipe' })
  await printed(caddy, 'stderr', /serving initial configuration/)
  caddy.stdout.resume()
  return {
    url: `https://127.0.0.1:${port}`,
    ca: files.ca,
    async stop() {
      const gone = once(caddy, 'exit')
      caddy.kill('SIGKILL')
      await gone
      files.remove()
    },
  }
}

/** A file of `deploy/` with what an operator changes. Throws when it lacks one of these places. */
function replaced(file: string, nodes: [string, string], others: Array<[from: string, to: string]>): string {
  const changes: Array<[string, string]> = [['127.0.0.1:8080', nodes[0]], ['127.0.0.1:8081', nodes[1]], ...others]
  return changes.reduce(
    (text, [from, to]) => {
      if (!text.includes(from)) throw new Error(`deploy/${file} has no ${from}`)
      return text.replace(from, to)
    },
    readFileSync(join(ROOT, 'deploy', file), 'utf8'),
  )
}

/** A certificate of 127.0.0.1 that has signed itself. */
function certificate() {
  const dir = mkdtempSync(join(tmpdir(), 'kinora-tls-'))
  const [cert, key] = [join(dir, 'cert.pem'), join(dir, 'key.pem')]
  const named = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1', '-days', '2', '-nodes']
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1']
  const made = spawnSync('openssl', ['req', '-x509', ...kind, ...named, '-keyout', key, '-out', cert])
  if (made.status !== 0) throw new Error(`openssl made no certificate: ${made.stderr}`)
  const access_log = join(dir, 'access.log')
  return {
    dir,
    cert,
    key,
    access_log,
    ca: readFileSync(cert, 'utf8'),
    remove: () => rmSync(dir, { recursive: true, force: true }),
  }
}

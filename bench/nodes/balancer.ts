import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { freePort } from '../../test/support/listen.ts'

/** nginx in front of the nodes, on loopback. Like `deploy/nginx.conf`, a POST is never sent twice: it may have been carried out. */
export async function startBalancer(
  dir: string,
  nodes: readonly string[],
): Promise<{ url: string; stop(): Promise<void> }> {
  const port = await freePort()
  const config = join(dir, 'nginx.conf')
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (kind) => `${kind}_temp_path ${dir}/${kind};`,
  )
  const user = process.getuid?.() === 0 ? 'user root;' : ''
  writeFileSync(
    config,
    `daemon off; ${user} worker_processes 1; pid ${dir}/nginx.pid; error_log ${dir}/nginx.log;
events { worker_connections 4096; }
http { access_log off; ${temporary.join(' ')}
  upstream kinora { ${nodes.map((node) => `server ${node} max_fails=1 fail_timeout=1s;`).join(' ')} keepalive 64; }
  server { listen 127.0.0.1:${port};
    location / {
      proxy_pass http://kinora; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $http_host;
      proxy_connect_timeout 2s; proxy_read_timeout 900s; proxy_buffering off; client_max_body_size 110m;
    } } }
`,
  )
  const nginx = spawn('nginx', ['-c', config, '-e', join(dir, 'nginx.log')], { stdio: 'ignore' })
  return {
    url: `http://127.0.0.1:${port}`,
    async stop() {
      const gone = once(nginx, 'exit')
      nginx.kill('SIGTERM')
      await gone
    },
  }
}

import { setTimeout as pause } from 'node:timers/promises'
import { startNginxServers, withoutNginx } from '../../../test/support/http/nginx.ts'
import type { Installation } from '../installation.ts'
import type { Way } from './way.ts'

const ALL = ['job', 'response', 'chat', 'stream'] as const
const RELOADS = 10
let reload = () => {}

/** What happens to engines, to receivers of webhooks, and to the proxy before the nodes. */
export const outside: readonly Way[] = [
  {
    name: 'engine-away',
    what: 'The video engine takes no connections',
    seconds: { long: 140, short: 20 },
    break: ({ network }) => network.engine.cut(),
    repair: ({ network }) => network.engine.restore(),
    expects: { goes_on: ['response', 'chat', 'stream'], alerts: ['KinoraEngineDown'] },
  },
  {
    name: 'slow-receiver',
    what: 'A webhook receiver answers two seconds later',
    seconds: { long: 20, short: null },
    break: ({ network }) => network.receiver.slow(2000),
    repair: ({ network }) => network.receiver.restore(),
    expects: { goes_on: ALL, unnoticed: true },
  },
  {
    name: 'proxy-reload',
    what: `The proxy is reloaded ${RELOADS} times`,
    seconds: { long: 5, short: null },
    async entry(installation) {
      if (withoutNginx) {
        reload = installation.balancer.reload
        return installation.balancer.url
      }
      const nginx = await startNginxServers((port) => serversOf(installation, port))
      installation.defer(nginx.stop)
      reload = nginx.reload
      return nginx.url
    },
    async break() {
      for (let i = 0; i < RELOADS; i++) {
        await pause(1000)
        reload()
      }
    },
    // A request may meet an idle connection that the proxy is just closing.
    expects: { goes_on: ALL },
  },
]

/** Before the nodes, as in deploy/nginx.conf. */
function serversOf({ nodes }: Installation, port: number): string {
  const servers = Object.values(nodes).map(({ url }) => `server ${new URL(url).host} max_fails=1 fail_timeout=1s;`)
  return `upstream kinora { ${servers.join(' ')} keepalive 64; }
  server { listen 127.0.0.1:${port};
    location / {
      proxy_pass http://kinora; proxy_http_version 1.1; proxy_set_header Connection ""; proxy_set_header Host $http_host;
      proxy_connect_timeout 2s; proxy_read_timeout 900s; proxy_buffering off; client_max_body_size 110m;
    } }`
}

import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isOnPath } from './installed.ts'
import { type PeerKind, startPeer } from './peer.ts'

const PROGRAM = 'bifrost-http'

/**
 * From the path: it is a program of its own that is not fetched here. Everything from the file, so that there is no console and no
 * database; pools and queues as its tuning page has them for up to 5,000 requests a second; no log of requests.
 * Source: https://docs.getbifrost.ai/providers/performance, https://docs.getbifrost.ai/deployment-guides/config-json/client
 */
export const BIFROST: PeerKind = {
  name: 'Bifrost',
  lacks: 'no key check, no price, nothing stored',
  share: 1,
  ratio_limit: 1,
  async start(upstream) {
    if (!isOnPath(PROGRAM)) return { missing: `${PROGRAM} not on the path` }
    return startPeer(upstream, {
      name: PROGRAM,
      command({ dir, port }) {
        writeFileSync(join(dir, 'config.json'), JSON.stringify(configOf(upstream)))
        const listen = ['-host', '127.0.0.1', '-port', String(port)]
        return { program: PROGRAM, args: ['-app-dir', dir, ...listen, '-log-level', 'error'] }
      },
      model: 'openai/fast-1',
    })
  },
}

function configOf({ url }: { url: string }): object {
  return {
    client: { initial_pool_size: 5000, drop_excess_requests: false, enable_logging: false },
    config_store: { enabled: false },
    logs_store: { enabled: false },
    providers: {
      openai: {
        keys: [{ name: 'bench', value: 'none', models: ['*'], weight: 1 }],
        network_config: { base_url: new URL(url).origin },
        concurrency_and_buffer_size: { concurrency: 1000, buffer_size: 5000 },
      },
    },
  }
}

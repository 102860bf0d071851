import { join } from 'node:path'
import { isOnPath } from './installed.ts'
import { type PeerKind, startPeer } from './peer.ts'

const PROGRAM = 'gomodel'
const KEY = 'sk-bench'

/**
 * From the path: it is a program of its own that is not fetched here. Its defaults, with what its documentation asks of production: a
 * master key and logs as JSON. By default it keeps usage in SQLite. Models are those named here, and no list of prices is fetched.
 * Source: https://github.com/ENTERPILOT/GoModel/tree/v0.1.22/docs/advanced, configuration
 */
export const GOMODEL: PeerKind = {
  name: 'GoModel',
  lacks:
    'one master key, no price, tokens in memory for up to 5 s before they are stored, and dropped when there are too many',
  share: 1,
  ratio_limit: 1,
  async start(upstream) {
    if (!isOnPath(PROGRAM)) return { missing: `${PROGRAM} not on the path` }
    return startPeer(upstream, {
      name: PROGRAM,
      command: ({ dir, port }) => ({
        program: PROGRAM,
        args: [],
        env: {
          PORT: String(port),
          GOMODEL_MASTER_KEY: KEY,
          LOG_FORMAT: 'json',
          SQLITE_PATH: join(dir, 'gomodel.db'),
          GOMODEL_CACHE_DIR: join(dir, 'cache'),
          MODEL_LIST_URL: '',
          OPENAI_API_KEY: 'none',
          OPENAI_BASE_URL: upstream.url,
          OPENAI_MODELS: 'fast-1',
          CONFIGURED_PROVIDER_MODELS_MODE: 'allowlist',
        },
      }),
      headers: { authorization: `Bearer ${KEY}` },
    })
  },
}

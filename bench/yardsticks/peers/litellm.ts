import { writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { LAYOUT } from '../../support/cores.ts'
import { installed, isOnPath } from './installed.ts'
import { type PeerKind, startPeer } from './peer.ts'

const VERSION = '1.100.5'
const PACKAGE = `litellm[proxy]==${VERSION}`
const KEY = 'sk-bench'

/**
 * From PyPI, into a virtual environment. As its checklist for production says: a master key, no error logs in the database, a request
 * timeout, JSON logs of errors only, no `.env`, and outside of Kubernetes a worker for each core. Prices come from the package and not
 * from the network. Source: https://docs.litellm.ai/docs/proxy/prod
 */
export const LITELLM: PeerKind = {
  name: 'LiteLLM proxy',
  lacks: 'one master key, cost computed and neither charged nor stored (no database)',
  share: 1 / 10,
  ratio_limit: 1,
  async start(upstream) {
    if (!isOnPath('python3')) return { missing: 'python3 not found' }
    const dir = installed(`litellm-${VERSION}`, (dir) => [
      ['python3', '-m', 'venv', dir],
      [join(dir, 'bin', 'pip'), 'install', '--quiet', '--only-binary', ':all:', PACKAGE],
    ])
    if (!dir) return { missing: `${PACKAGE} could not be installed` }
    const workers = String((LAYOUT?.subject ?? cpus()).length)
    return startPeer(upstream, {
      name: PACKAGE,
      command({ dir: own, port }) {
        const config = join(own, 'config.json')
        writeFileSync(config, JSON.stringify(configOf(upstream)))
        const listen = ['--host', '127.0.0.1', '--port', String(port), '--num_workers', workers]
        return {
          program: join(dir, 'bin', 'litellm'),
          args: ['--config', config, ...listen, '--telemetry', 'False'],
          env: {
            LITELLM_MODE: 'PRODUCTION',
            LITELLM_LOG: 'ERROR',
            LITELLM_MASTER_KEY: KEY,
            LITELLM_LOCAL_MODEL_COST_MAP: 'True',
          },
        }
      },
      headers: { authorization: `Bearer ${KEY}` },
    })
  },
}

/** Its YAML, as JSON. */
function configOf({ url }: { url: string }): object {
  return {
    model_list: [{ model_name: 'fast-1', litellm_params: { model: 'openai/fast', api_key: 'none', api_base: url } }],
    general_settings: { disable_error_logs: true },
    litellm_settings: { request_timeout: 600, set_verbose: false, json_logs: true },
  }
}

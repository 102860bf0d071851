import { join } from 'node:path'
import { installed } from './installed.ts'
import { type PeerKind, startPeer } from './peer.ts'

const VERSION = '1.15.2'
const PACKAGE = `@portkey-ai/gateway@${VERSION}`

/** From npm. A provider on loopback has to be a trusted host. Source: https://portkey.ai/docs/product/ai-gateway/custom-hosts */
export const PORTKEY: PeerKind = {
  name: "Portkey's gateway",
  lacks: 'no key check, no price, nothing stored',
  share: 1,
  ratio_limit: 1 / 7,
  async start(upstream) {
    const flags = ['--no-save', '--no-audit', '--no-fund', '--ignore-scripts']
    const dir = installed(`portkey-${VERSION}`, (dir) => [['npm', 'install', ...flags, '--prefix', dir, PACKAGE]])
    if (!dir) return { missing: `${PACKAGE} could not be installed` }
    const script = join(dir, 'node_modules', '@portkey-ai', 'gateway', 'build', 'start-server.js')
    return startPeer(upstream, {
      name: PACKAGE,
      command: ({ port }) => ({
        program: process.execPath,
        args: [script, `--port=${port}`, '--headless'],
        env: { NODE_ENV: 'production', TRUSTED_CUSTOM_HOSTS: '127.0.0.1,localhost' },
      }),
      headers: {
        authorization: 'Bearer none',
        'x-portkey-provider': 'openai',
        'x-portkey-custom-host': upstream.url,
      },
    })
  },
}

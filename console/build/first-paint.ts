import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Plugin } from 'vite'

/** Puts `first-paint.js` into the head as a classic script of its own: module scripts run after the first paint. */
export function firstPaint(): Plugin {
  const source = readFileSync(join(import.meta.dirname, '..', 'first-paint.js'), 'utf8')
  let reference: string | null = null
  return {
    name: 'kinora:first-paint',
    buildStart() {
      if (this.meta.watchMode === false || this.environment.mode === 'build')
        reference = this.emitFile({ type: 'asset', name: 'first-paint.js', source })
    },
    transformIndexHtml: {
      order: 'post',
      handler(_html, { bundle }) {
        if (!reference || !bundle) return [{ tag: 'script', children: source, injectTo: 'head-prepend' }]
        const asset = Object.values(bundle).find(
          ({ type, fileName }) => type === 'asset' && /first-paint/.test(fileName),
        )
        return [{ tag: 'script', attrs: { src: `/${asset!.fileName}` }, injectTo: 'head-prepend' }]
      },
    },
  }
}

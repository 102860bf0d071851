import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import type { Plugin } from 'vite'

/** Smaller files gain nothing worth another file. */
const BYTES_MIN = 1024
const COMPRESSIBLE = /\.(js|css|svg|json)$/

/** Writes a brotli and a gzip form beside every text asset, so that the service never compresses at run time. */
export function precompress(): Plugin {
  return {
    name: 'kinora:precompress',
    apply: 'build',
    enforce: 'post',
    generateBundle(_options, bundle) {
      for (const file of Object.values(bundle)) {
        const text = file.type === 'chunk' ? file.code : file.source
        const bytes = Buffer.from(text as string)
        if (!COMPRESSIBLE.test(file.fileName) || bytes.length < BYTES_MIN) continue
        const params = { [constants.BROTLI_PARAM_QUALITY]: 10, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length }
        this.emitFile({ type: 'asset', fileName: `${file.fileName}.br`, source: brotliCompressSync(bytes, { params }) })
        this.emitFile({ type: 'asset', fileName: `${file.fileName}.gz`, source: gzipSync(bytes, { level: 9 }) })
      }
    },
  }
}

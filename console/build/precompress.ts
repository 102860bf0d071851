import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
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
    // Files as they lie on the disk: other plugins change what they hold until the very end.
    writeBundle({ dir }, bundle) {
      for (const name of Object.keys(bundle)) {
        if (!COMPRESSIBLE.test(name)) continue
        const path = join(dir!, name)
        const bytes = readFileSync(path)
        if (bytes.length < BYTES_MIN) continue
        const params = {
          [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY,
          [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length,
        }
        writeFileSync(`${path}.br`, brotliCompressSync(bytes, { params }))
        writeFileSync(`${path}.gz`, gzipSync(bytes, { level: 9 }))
      }
    },
  }
}

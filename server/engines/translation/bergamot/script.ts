import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { compileFunction } from 'node:vm'
import { workerData } from 'node:worker_threads'

/**
 * Runs the worker script of `@browsermt/bergamot-translator` in a worker thread. The script is CommonJS, but its package declares ES modules,
 * so Node refuses to run it by itself.
 */
const file = workerData as string
const script = compileFunction(readFileSync(file, 'utf8'), ['require', '__filename', '__dirname'], { filename: file })
script(createRequire(file), file, dirname(file))

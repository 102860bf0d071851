import { createHash } from 'node:crypto'
import { existsSync, globSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { type Plugin, rolldown } from 'rolldown'
import { ROOT } from '../support/sources.ts'

/** The program of the `kinora` command: the bundle that the runner made, or the sources. */
export const SERVER_MAIN = process.env.KINORA_TEST_SERVER ?? join(ROOT, 'server', 'main.ts')

const BUNDLES = join(ROOT, 'node_modules', '.cache', 'kinora', 'tests')

/**
 * Bundles the service, unless this state of it is bundled already, and returns the path of the program. Tests start some hundred processes
 * of it, and each would read eight hundred files: a second of processor time, of which the bundle needs half. Children and threads that the
 * service starts by the path of their file still run from the sources.
 */
export async function bundleServer(): Promise<string> {
  const hash = createHash('sha256')
  for (const path of ['package-lock.json', ...globSync('server/**/*.ts', { cwd: ROOT }).sort()])
    hash.update(`${path} ${statSync(join(ROOT, path)).mtimeMs}\n`)
  const dir = join(BUNDLES, `server-${hash.digest('hex').slice(0, 16)}`)
  const main = join(dir, 'main.js')
  if (existsSync(main)) return main
  const draft = `${dir}-${process.pid}`
  const build = await rolldown({
    input: join(ROOT, 'server', 'main.ts'),
    platform: 'node',
    logLevel: 'silent',
    external: (id, importer) => !isBundled(id, importer),
    plugins: [atTheirPlace],
  })
  await build.write({
    dir: draft,
    format: 'esm',
    minify: true,
    keepNames: true,
    entryFileNames: '[name].js',
    chunkFileNames: 'chunk-[hash].js',
  })
  await build.close()
  writeFileSync(join(draft, 'package.json'), '{ "type": "module" }\n')
  for (const name of existsSync(BUNDLES) ? readdirSync(BUNDLES) : [])
    if (/^server-[0-9a-f]{16}$/.test(name)) rmSync(join(BUNDLES, name), { recursive: true, force: true })
  renameSync(draft, dir)
  return main
}

/** Packages of many files that read nothing beside their code, with whatever they import. */
const PACKAGES = /^(@fastify\/multipart|fastify|kysely|pg|typebox|undici|yaml)(\/|$)/

function isBundled(id: string, importer: string | undefined): boolean {
  if (/^(node:|pg-native$)/.test(id)) return false
  return /^[./]/.test(id) || PACKAGES.test(id) || (importer?.includes('node_modules') ?? false)
}

/** What a module finds by its own place is where its source is. */
const atTheirPlace: Plugin = {
  name: 'at-their-place',
  transform(code, id) {
    if (id.includes('node_modules') || !code.includes('import.meta.')) return null
    return code
      .replaceAll('import.meta.dirname', JSON.stringify(dirname(id)))
      .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href))
  },
}

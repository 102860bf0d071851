import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'

/** Where `install.sh` puts what does not come from npm. */
const DIR = process.env.KINORA_TOOLCHAINS ?? join(homedir(), '.cache', 'kinora-toolchains')
export const HERE = import.meta.dirname

/** Each by a file that is there once it is installed. */
const INSTALLED = {
  python: join(DIR, 'python/bin/python'),
  'llm-comply': join(DIR, 'python/bin/llm-comply'),
  'openapi-python-client': join(DIR, 'python/bin/openapi-python-client'),
  'openapi-generator': join(DIR, 'python/bin/openapi-generator-cli'),
  'oapi-codegen': join(DIR, 'go/oapi-codegen'),
  'open-responses': join(DIR, 'openresponses/node_modules/zod'),
}
export const SUITE = join(DIR, 'openresponses')

/** The path of a command that `install.sh` has installed. */
export const commandOf = (name: keyof typeof INSTALLED): string => INSTALLED[name]

/** Why a test that needs these is skipped; false when they are there. */
export function without(...names: Array<keyof typeof INSTALLED | 'go'>): string | false {
  const missing = names.find((name) => (name === 'go' ? !isGoFound() : !existsSync(INSTALLED[name])))
  return missing === undefined ? false : `${missing} is not installed: bash test/clients/toolchains/install.sh`
}

/** Runs a command and gives what it printed. Throws with that when it fails. */
export async function run(command: string, args: readonly string[], options: { cwd: string; env?: object }) {
  const env = { ...process.env, PATH: `${join(DIR, 'python/bin')}${delimiter}${process.env.PATH}`, ...options.env }
  const running = promisify(execFile)(command, args, { cwd: options.cwd, env, maxBuffer: 64 * 1024 * 1024 })
  const { stdout } = await running.catch((error: { message: string; stdout: string; stderr: string }) => {
    throw new Error(`${error.message}\n${error.stdout.slice(-4000)}\n${error.stderr.slice(-4000)}`)
  })
  return stdout
}

/** `install.sh` needs it, and does not install it. */
function isGoFound(): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((dir) => existsSync(join(dir, 'go')))
}

import { accessSync, closeSync, constants, openSync, readSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { StartError } from '../../../platform/start-error.ts'

/** The package and the version it was tried with. */
const PACKAGE = 'node-llama-cpp'
const VERSION = '3.22.1'

/** The URL of the package's module, looked for beside Kinora's own packages. Throws StartError with the command that installs it. */
export function findPackage(name: string = PACKAGE): string {
  try {
    return import.meta.resolve(name)
  } catch {
    throw new StartError(
      `chat_models: the engine llama needs the package ${PACKAGE}, which is not installed. In Kinora's directory, run: npm install ${PACKAGE}@${VERSION}`,
    )
  }
}

/** The absolute path of a GGUF file that can be read. Throws StartError with what is wrong. */
export function findModelFile(model_file: string, config_dir = '.'): string {
  const path = resolve(config_dir, model_file)
  let magic: string
  try {
    accessSync(path, constants.R_OK)
    if (!statSync(path).isFile()) throw new Error(`${path} is not a file`)
    magic = firstBytes(path)
  } catch (error) {
    throw new StartError(`chat_models: model_file of the engine llama cannot be read: ${(error as Error).message}`)
  }
  if (magic !== 'GGUF')
    throw new StartError(`chat_models: model_file of the engine llama, ${path}, is not a GGUF file.`)
  return path
}

function firstBytes(path: string): string {
  const file = openSync(path, 'r')
  try {
    const bytes = Buffer.alloc(4)
    readSync(file, bytes, 0, 4, 0)
    return bytes.toString('latin1')
  } finally {
    closeSync(file)
  }
}

import { createRequire } from 'node:module'
import { asRecord } from '../../platform/json/record.ts'
import { StartError } from '../../platform/start-error.ts'

/** Makes a provider from its settings. What models a provider has is for the adapter to look at. */
export type Factory = (settings: Record<string, unknown>) => Record<string, unknown>

/** Versions that were tried; of other packages the newest is installed. */
const TRIED: Readonly<Record<string, string>> = {
  '@ai-sdk/anthropic': '4.0.105',
  '@ai-sdk/google': '4.0.121',
  '@ai-sdk/amazon-bedrock': '5.0.101',
  '@ai-sdk/minimax': '3.0.45',
}

/** The version of the AI SDK's interface that the adapters speak. */
const VERSION = 'v4'

const packages = createRequire(import.meta.url)

/** The function of a package that creates a provider, for `setting` of the configuration. Throws StartError when the package is missing or has none. */
export function requireFactory(name: string, setting: string): Factory {
  try {
    packages.resolve(name)
  } catch {
    throw new StartError(
      `${setting}: an engine of kind ai-sdk needs the package ${name}, which is not installed. ${remedy(name)}`,
    )
  }
  const factory = findFactory(name)
  if (factory === null) throw new StartError(`${setting}: the package ${name} does not create a provider.`)
  return factory
}

/** Throws StartError when a model of the package does not speak the version of the AI SDK's interface that the adapters do. */
export function requireVersion(name: string, setting: string, model: { specificationVersion: string }): void {
  const { specificationVersion: spoken } = model
  if (spoken === VERSION) return
  throw new StartError(
    `${setting}: the package ${name} speaks ${spoken} of the AI SDK's interface, not ${VERSION}. ${remedy(name)}`,
  )
}

function remedy(name: string): string {
  const version = Object.hasOwn(TRIED, name) ? `@${TRIED[name]}` : ''
  return `In Kinora's directory, run: npm install ${name}${version}`
}

/** Such as `createAnthropic`: the first by name, since the others are older names for it. */
function findFactory(name: string): Factory | null {
  const exported = asRecord(packages(name)) ?? {}
  const found = Object.keys(exported)
    .sort()
    .find((key) => /^create[A-Z]/.test(key) && typeof exported[key] === 'function')
  return found === undefined ? null : (exported[found] as Factory)
}

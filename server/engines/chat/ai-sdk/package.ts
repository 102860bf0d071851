import { createRequire } from 'node:module'
import { asRecord } from '../../../platform/json/record.ts'
import { StartError } from '../../../platform/start-error.ts'
import type { Model } from './model.ts'

/** A provider as a package's factory makes it: language models by their name. */
export type Provider = { languageModel(model: string): Model }
export type Factory = (settings: Record<string, unknown>) => Provider

/** Versions that were tried; of other packages the newest is installed. */
const TRIED: Readonly<Record<string, string>> = {
  '@ai-sdk/anthropic': '4.0.105',
  '@ai-sdk/google': '4.0.121',
  '@ai-sdk/amazon-bedrock': '5.0.101',
}

const packages = createRequire(import.meta.url)

/** The function of the package that creates a provider. Throws StartError when the package is missing or has none. */
export function requireFactory(name: string): Factory {
  try {
    packages.resolve(name)
  } catch {
    const version = Object.hasOwn(TRIED, name) ? `@${TRIED[name]}` : ''
    throw new StartError(
      `chat_models: an engine of kind ai-sdk needs the package ${name}, which is not installed. In Kinora's directory, run: npm install ${name}${version}`,
    )
  }
  const factory = findFactory(name)
  if (factory === null) throw new StartError(`chat_models: the package ${name} does not create a provider.`)
  return factory
}

/** Throws StartError when the models of a package do not speak the version of the AI SDK's interface that this adapter does. */
export function requireVersion(name: string, { specificationVersion }: Model): void {
  if (specificationVersion === VERSION) return
  const version = Object.hasOwn(TRIED, name) ? TRIED[name] : 'latest'
  throw new StartError(
    `chat_models: the package ${name} speaks ${specificationVersion} of the AI SDK's interface, not ${VERSION}. In Kinora's directory, run: npm install ${name}@${version}`,
  )
}

const VERSION = 'v4'

/** Such as `createAnthropic`: the first by name, since the others are older names for it. */
function findFactory(name: string): Factory | null {
  const exported = asRecord(packages(name)) ?? {}
  const found = Object.keys(exported)
    .sort()
    .find((key) => /^create[A-Z]/.test(key) && typeof exported[key] === 'function')
  return found === undefined ? null : (exported[found] as Factory)
}

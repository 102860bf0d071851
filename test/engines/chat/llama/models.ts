import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after } from 'node:test'
import type { ChatEngine } from '../../../../server/engines/chat/contract.ts'
import { type LlamaEnv, type LlamaOptions, llamaChat } from '../../../../server/engines/chat/llama/adapter.ts'
import { findPackage } from '../../../../server/engines/chat/llama/model-file.ts'

const STAND_IN = new URL('./stand-in.ts', import.meta.url).href

/** A file that the stand-in for the library loads as a model. */
export function modelFile(content = 'GGUF'): string {
  const dir = mkdtempSync(join(tmpdir(), 'kinora-llama-'))
  after(() => rmSync(dir, { recursive: true, force: true }))
  const path = join(dir, 'model.gguf')
  writeFileSync(path, content)
  return path
}

/** The engine over the stand-in for the library, whose words are in stand-in.ts. */
export function standIn(options: Partial<LlamaOptions> = {}, env: LlamaEnv = {}): ChatEngine {
  const engine = llamaChat({ kind: 'llama', model_file: options.model_file ?? modelFile(), ...options }, env, STAND_IN)
  after(() => engine.close?.())
  return engine
}

const { KINORA_LLAMA_MODEL } = process.env

/** Why the tests with llama.cpp itself are not run; false when they are. */
export const without_llama: string | false = (() => {
  const how = 'to run: npm install --no-save node-llama-cpp@3.22.1, and KINORA_LLAMA_MODEL=<a GGUF file> npm test'
  if (KINORA_LLAMA_MODEL === undefined) return how
  try {
    return findPackage() === '' ? how : false
  } catch {
    return how
  }
})()

/** The engine over `node-llama-cpp` and the operator's file. */
export function realModel(options: Partial<LlamaOptions> = {}): ChatEngine {
  return llamaChat({ kind: 'llama', model_file: KINORA_LLAMA_MODEL!, context_tokens: 1024, gpu: false, ...options })
}

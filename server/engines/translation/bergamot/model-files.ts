import { readdirSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { StartError } from '../../../platform/start-error.ts'

/** Paths of the files of one model. */
export type ModelFiles = { model: string; shortlist: string; vocabularies: string[] }

/** What Bergamot's worker loads. */
export type ModelBytes = {
  model: ArrayBuffer
  shortlist: ArrayBuffer
  vocabs: ArrayBuffer[]
  config: Record<string, string>
}

/**
 * The files of the Japanese to English model in a directory, named as Mozilla publishes them: `model.jaen.intgemm.alphas.bin`,
 * `lex.50.50.jaen.s2t.bin`, and `vocab.jaen.spm` or `srcvocab.jaen.spm` with `trgvocab.jaen.spm`.
 * Throws StartError with what is missing.
 */
export function findModelFiles(model_dir: string): ModelFiles {
  const names = namesIn(model_dir)
  const find = (pattern: RegExp) => {
    const found = names.filter((name) => pattern.test(name))
    const name = found.find((each) => each.includes('jaen')) ?? found[0]
    return name === undefined ? undefined : join(model_dir, name)
  }
  const model = find(/^model\..*\.bin$/)
  const shortlist = find(/^lex\..*\.bin$/)
  const shared = find(/^vocab\..*\.spm$/)
  const source = find(/^srcvocab\..*\.spm$/)
  const target = find(/^trgvocab\..*\.spm$/)
  const vocabularies = shared ? [shared] : source && target ? [source, target] : []
  if (model && shortlist && vocabularies.length > 0) return { model, shortlist, vocabularies }

  const missing = [
    ...(model ? [] : ['model.*.bin']),
    ...(shortlist ? [] : ['lex.*.bin']),
    ...(vocabularies.length > 0 ? [] : ['vocab.*.spm (or srcvocab.*.spm and trgvocab.*.spm)']),
  ]
  const packed = names.some((name) => name.endsWith('.gz')) ? ' Unpack the files that end in .gz with gunzip.' : ''
  throw new StartError(`translation.engine.model_dir: ${model_dir} has no ${missing.join(', no ')}.${packed}`)
}

export async function readModel({ model, shortlist, vocabularies }: ModelFiles): Promise<ModelBytes> {
  // Models quantized without alphas need the other arithmetic.
  const config: Record<string, string> = model.endsWith('intgemm8.bin') ? { 'gemm-precision': 'int8shiftAll' } : {}
  return {
    model: await bytesOf(model),
    shortlist: await bytesOf(shortlist),
    vocabs: await Promise.all(vocabularies.map(bytesOf)),
    config,
  }
}

async function bytesOf(path: string): Promise<ArrayBuffer> {
  return new Uint8Array(await readFile(path)).buffer
}

function namesIn(model_dir: string): string[] {
  try {
    return readdirSync(model_dir).sort()
  } catch (error) {
    throw new StartError(`translation.engine.model_dir cannot be read: ${(error as Error).message}`)
  }
}

import { readFileSync } from 'node:fs'
import type { Chat, Library, Sequence } from '../../../../server/engines/chat/llama/child/library.ts'
import type { HistoryItem } from '../../../../server/engines/chat/llama/protocol.ts'

/**
 * Speaks as `node-llama-cpp` does, without llama.cpp: a token is a word, and the answer repeats the last user message. Words in it:
 * `EXIT` ends the process, `THROW` fails, `THINK` begins with a thought, `CALL` calls the first function, with `MALFORMED` arguments that
 * the library rejects, `FOREVER` never ends.
 * A file with `BROKEN` cannot be loaded, one with `CRASH` ends the process, one with `SLOW` is never loaded. What a sequence still holds when an answer begins is part of
 * the answer, so that a test would see it.
 */
type State = Sequence & { held: string[]; used: number }

const wordsOf = (text: string) => text.match(/\s*\S+/g) ?? []

function newSequence(): State {
  const state: State = {
    held: [],
    used: 0,
    tokenMeter: {
      get usedOutputTokens() {
        return state.used
      },
    },
    async clearHistory() {
      state.held = []
    },
  }
  return state
}

export const getLlama: Library['getLlama'] = async ({ logger }) => ({
  async loadModel({ modelPath }) {
    const content = readFileSync(modelPath, 'utf8')
    if (content.includes('CRASH')) process.exit(134)
    if (content.includes('SLOW')) await new Promise(() => {})
    if (content.includes('BROKEN')) {
      logger('error', 'tensor data is not within the file bounds')
      throw new Error('Failed to load model')
    }
    return {
      tokenizer: 'tokenizer',
      trainContextSize: 4096,
      createContext: async ({ contextSize }) => ({ contextSize, getSequence: newSequence }),
    }
  },
  async createGrammarForJsonSchema(schema) {
    return schema
  },
  async getGrammarFor() {
    return {}
  },
})

export const resolveChatWrapper: Library['resolveChatWrapper'] = () => ({
  generateContextState({ chatHistory, availableFunctions = {} }) {
    if (textOf(chatHistory).includes('UNTEMPLATED')) throw new Error('roles must alternate')
    const text = `${JSON.stringify(Object.keys(availableFunctions))} ${textOf(chatHistory)}`
    return { contextText: { tokenize: () => wordsOf(text).map((_, i) => i) } }
  },
})

export const TokenBias: Library['TokenBias'] = class {
  readonly banned = new Set<number>()
  set(token: number, bias: 'never' | { logit: number }) {
    if (bias === 'never') this.banned.add(token)
  }
}

export const LlamaChat: Library['LlamaChat'] = class implements Chat {
  readonly #sequence: State
  constructor({ contextSequence }: { contextSequence: Sequence }) {
    this.#sequence = contextSequence as State
  }

  async generateResponse(...[history, options]: Parameters<Chat['generateResponse']>) {
    const asked = [...this.#sequence.held, lastText(history)].join(' ')
    this.#sequence.held = wordsOf(textOf(history))
    const next = async () => {
      await new Promise(setImmediate)
      options.signal.throwIfAborted()
      this.#sequence.used++
      return --left < 0
    }
    let left = options.maxTokens
    if (asked.includes('EXIT')) process.exit(1)
    if (asked.includes('THROW')) throw new TypeError(`cannot evaluate ${asked}`)
    if (asked.includes('CALL') && options.functions) return await this.#call(options, asked, next)
    if (asked.includes('THINK')) {
      for (const text of ['Well', ' then.']) {
        await next()
        options.onResponseChunk({ type: 'segment', text, tokens: [1] })
      }
    }
    const answer = options.grammar === undefined ? asked : JSON.stringify({ answer: asked })
    for (const text of asked.includes('FOREVER') ? forever() : wordsOf(answer)) {
      if (await next()) return { metadata: { stopReason: 'maxTokens' } }
      if (options.customStopTriggers?.some((stop) => text.includes(stop)))
        return { metadata: { stopReason: 'customStopTrigger' } }
      options.onResponseChunk({ text, tokens: [1] })
    }
    return { metadata: { stopReason: 'eogToken' } }
  }

  async #call(options: Parameters<Chat['generateResponse']>[1], asked: string, next: () => Promise<boolean>) {
    const [functionName] = Object.keys(options.functions!)
    const add = options.onFunctionCallParamsChunk!
    const pieces = asked.includes('FOREVER') ? forever() : ['{"city":', ' ', '"Oslo"}', '\n\n', '\n']
    for (const paramsChunk of asked.includes('UNSTREAMED') ? [] : pieces) {
      await next()
      add({ callIndex: 0, functionName: functionName!, paramsChunk, done: false })
      options.signal.throwIfAborted()
    }
    if (asked.includes('MALFORMED')) {
      add({ callIndex: 0, functionName: functionName!, paramsChunk: '', done: true })
      throw new Error('Expected type "integer" but got "number"')
    }
    const params = { city: 'Oslo' }
    return { functionCalls: [{ functionName: functionName!, params }], metadata: { stopReason: 'functionCalls' } }
  }
}

function* forever(): Generator<string> {
  while (true) yield ' on'
}

function lastText(history: readonly HistoryItem[]): string {
  const last = history.findLast((item) => item.type === 'user')
  return last?.type === 'user' ? last.text : ''
}

function textOf(history: readonly HistoryItem[]): string {
  return history.map((item) => (item.type === 'model' ? JSON.stringify(item.response) : item.text)).join(' ')
}

import type { LoadOrder } from '../protocol.ts'
import type { ChatWrapper, Library, Llama, LlamaModel, Sequence } from './library.ts'

/** A model in memory. `sequences` are those that no request uses. */
export type Loaded = {
  library: Library
  llama: Llama
  model: LlamaModel
  wrapper: ChatWrapper
  /** Tokens of one conversation, input and output together. */
  context_tokens: number
  sequences: Sequence[]
}

/** Of a context when the configuration names none: more takes memory that a machine may not have. */
const CONTEXT_TOKENS = 8192

/** Throws an Error whose message says why, with what llama.cpp itself printed. */
export async function loadModel({ package_url, ...order }: LoadOrder): Promise<Loaded> {
  const printed: string[] = []
  try {
    const library = (await import(package_url)) as Library
    const llama = await library.getLlama({
      gpu: order.gpu,
      // The binaries come with the package: a service neither downloads nor compiles.
      build: 'never',
      skipDownload: true,
      progressLogs: false,
      maxThreads: order.threads,
      logLevel: 'error',
      logger: (_, message) => void (printed.length < 10 && printed.push(message.trim())),
    })
    const model = await llama.loadModel({ modelPath: order.model_file, ...(order.gpu === false && { gpuLayers: 0 }) })
    const context = await model.createContext({
      contextSize: order.context_tokens ?? Math.min(CONTEXT_TOKENS, model.trainContextSize),
      sequences: order.sequences,
      threads: order.threads,
      failedCreationRemedy: false,
    })
    const sequences = Array.from({ length: order.sequences }, () => context.getSequence())
    const wrapper = library.resolveChatWrapper(model)
    return { library, llama, model, wrapper, context_tokens: context.contextSize, sequences }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error([reason, ...printed].filter((line) => line !== '').join(' '))
  } finally {
    printed.length = 10
  }
}

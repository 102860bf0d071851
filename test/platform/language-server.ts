import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { ROOT } from '../support/sources.ts'

export type Diagnostic = { message: string; range: { start: { line: number } } }

/** A YAML language server as an editor runs it. */
export type LanguageServer = {
  /** Opens `text` under the name of a file of this repository and resolves with what the editor would underline. */
  diagnose(name: string, text: string): Promise<Diagnostic[]>
  /** What is offered where `text` has a `¦`, which is taken out. */
  complete(name: string, text: string): Promise<string[]>
  /** What is shown over the place of `¦`. */
  hover(name: string, text: string): Promise<string>
  stop(): Promise<void>
}

/** The program of the package `yaml-language-server`; null when it is not installed. */
export function languageServerProgram(): string | null {
  try {
    return createRequire(join(ROOT, 'package.json')).resolve('yaml-language-server/bin/yaml-language-server')
  } catch {
    return null
  }
}

/** Source: https://microsoft.github.io/language-server-protocol/specification (3.17), base protocol and text synchronization. */
export async function startLanguageServer(program: string): Promise<LanguageServer> {
  const child = spawn(process.execPath, [program, '--stdio'], { stdio: ['pipe', 'pipe', 'inherit'] })
  const wire = openWire(child)
  const settings = { yaml: { validate: true, completion: true, hover: true, schemaStore: { enable: false } } }
  await wire.request('initialize', { processId: process.pid, rootUri: pathToFileURL(ROOT).href, capabilities: {} })
  wire.notify('initialized', {})
  wire.notify('workspace/didChangeConfiguration', { settings })
  let version = 0
  const open = async (name: string, text: string) => {
    version += 1
    const uri = pathToFileURL(join(ROOT, name.replace('.yaml', `-${version}.yaml`))).href
    const seen = wire.notified('textDocument/publishDiagnostics', (params) => (params as { uri: string }).uri === uri)
    wire.notify('textDocument/didOpen', { textDocument: { uri, languageId: 'yaml', version, text } })
    return { uri, diagnostics: ((await seen) as { diagnostics: Diagnostic[] }).diagnostics }
  }
  const openAt = async (name: string, marked: string) => {
    const before = marked.split('¦', 1)[0]!.split('\n')
    const { uri } = await open(name, marked.replace('¦', ''))
    return { textDocument: { uri }, position: { line: before.length - 1, character: before.at(-1)!.length } }
  }
  return {
    diagnose: async (name, text) => (await open(name, text)).diagnostics,
    async complete(name, marked) {
      const answer = await wire.request('textDocument/completion', await openAt(name, marked))
      const items = Array.isArray(answer) ? answer : (answer as { items: unknown[] }).items
      return items.map((item) => (item as { label: string }).label)
    },
    async hover(name, marked) {
      return JSON.stringify(await wire.request('textDocument/hover', await openAt(name, marked)))
    },
    async stop() {
      const gone = once(child, 'exit')
      child.kill('SIGTERM')
      await gone
    },
  }
}

type Message = { id?: number; method?: string; params?: unknown; result?: unknown; error?: { message: string } }

function openWire(child: ChildProcess) {
  const answers = new Map<number, (message: Message) => void>()
  const waiting = new Set<{ method: string; fits(params: unknown): boolean; done(params: unknown): void }>()
  const send = (message: object) => {
    const body = JSON.stringify({ jsonrpc: '2.0', ...message })
    child.stdin!.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
  }
  readMessages(child, (message) => {
    const { id, method, params } = message
    if (method === undefined) return answers.get(id!)?.(message)
    // Requests of the server are about what an editor could do for it; null is "nothing".
    if (id !== undefined) return send({ id, result: null })
    for (const each of waiting) if (each.method === method && each.fits(params)) each.done(params)
  })
  let last = 0
  return {
    notify: (method: string, params: unknown) => send({ method, params }),
    request(method: string, params: unknown): Promise<unknown> {
      last += 1
      const id = last
      return new Promise((resolve, reject) => {
        answers.set(id, ({ result, error }) => (error ? reject(new Error(error.message)) : resolve(result)))
        send({ id, method, params })
      })
    },
    notified: (method: string, fits: (params: unknown) => boolean): Promise<unknown> =>
      new Promise((resolve) => {
        const entry = {
          method,
          fits,
          done(params: unknown) {
            waiting.delete(entry)
            resolve(params)
          },
        }
        waiting.add(entry)
      }),
  }
}

function readMessages(child: ChildProcess, onMessage: (message: Message) => void): void {
  let bytes: Buffer = Buffer.alloc(0)
  child.stdout!.on('data', (chunk: Buffer) => {
    bytes = Buffer.concat([bytes, chunk])
    for (;;) {
      const end = bytes.indexOf('\r\n\r\n')
      const length = Number(
        /Content-Length: (\d+)/i.exec(bytes.toString('latin1', 0, Math.max(end, 0)))?.[1] ?? Number.NaN,
      )
      if (end < 0 || bytes.length < end + 4 + length) return
      const body = bytes.toString('utf8', end + 4, end + 4 + length)
      bytes = bytes.subarray(end + 4 + length)
      onMessage(JSON.parse(body) as Message)
    }
  })
}

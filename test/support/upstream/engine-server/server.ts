import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { close, listen } from '../../listen.ts'
import { type Answers, answerChat, answerModerations, answerTranscription, defaultAnswers } from './answers.ts'
import { comfyuiRoutes } from './comfyui.ts'
import { contentTasksRoutes } from './content-tasks.ts'
import type { ReceivedRequest, Reply } from './exchange.ts'
import { falRoutes } from './fal.ts'
import { type Choice, type Fault, sendFault } from './faults.ts'
import { answerDeepl, answerLibretranslate } from './machine-translation.ts'
import { type Conduct, jsonReply, type Render, renderStore } from './renders.ts'
import { replicateRoutes } from './replicate.ts'
import { veoRoutes } from './veo.ts'
import { videosApiRoutes } from './videos-api.ts'

/** The next `times` requests (1 when absent) whose method and path match meet with the fault. */
export type ScriptEntry = { method?: string; path?: string | RegExp; times?: number; fault: Choice }

/** Outside engines on one real socket: every dialect of the video adapters, `/v1/moderations`, `/v1/chat/completions`, `/v1/audio/transcriptions` and machine translators, with faults on demand. */
export type EngineServer = {
  url: string
  /** Every request received, also those cut off in their body. */
  requests: ReceivedRequest[]
  renders: Map<string, Render>
  /** Renders begun so far, also those forgotten since. */
  started(): number
  /** Where the creation times of renders come from, in milliseconds; the real time when absent. */
  setClock(now: () => number): void
  /** How the next renders go; stays until set again. */
  conduct(conduct: Partial<Conduct>): void
  answers: Answers
  script(...entries: ScriptEntry[]): void
  /** Takes back what was scripted and has not happened. */
  unscript(): void
  /** Resolves with the next request that matches, or one already received and not asked for before. */
  received(method: string, path: string | RegExp): Promise<ReceivedRequest>
  /** Lets every stalled request go on as if nothing had been. */
  release(): void
  /** Loses every render, as a restarted engine does. */
  forget(): void
  close(): Promise<void>
}

/** What the server speaks as an engine of videos: the first that knows a path answers. */
const DIALECTS = [veoRoutes, videosApiRoutes, comfyuiRoutes, falRoutes, replicateRoutes, contentTasksRoutes]

export async function startEngineServer({ host = '127.0.0.1' } = {}): Promise<EngineServer> {
  const store = renderStore()
  const dialects = DIALECTS.map((routes) => routes(store))
  const answers = defaultAnswers()
  const requests: ReceivedRequest[] = []
  const scripted: ScriptEntry[] = []
  const stalled: Array<() => void> = []
  const waiting: Array<{ wants(request: ReceivedRequest): boolean; resolve(request: ReceivedRequest): void }> = []
  const claimed = new Set<ReceivedRequest>()

  const server = createServer(async (incoming, response) => {
    const { request, whole } = await readRequest(incoming)
    requests.push(request)
    const waiter = waiting.findIndex(({ wants }) => wants(request))
    if (waiter >= 0) {
      claimed.add(request)
      waiting.splice(waiter, 1)[0]!.resolve(request)
    }
    // As with every real engine, a client that left in the middle of its body has begun nothing.
    if (!whole) return
    const fault = takeFault(scripted, request)
    if (fault === null) return send(response, route(request))
    if (fault.kind === 'stall') return void stalled.push(() => send(response, route(request)))
    sendFault(response, fault, request, () => route(request))
  })

  function route(request: ReceivedRequest): Reply {
    const [path = ''] = request.path.split('?')
    if (path.endsWith('/chat/completions')) return answerChat(answers, request.json)
    if (path.endsWith('/moderations')) return answerModerations(answers, request.json)
    if (path.endsWith('/audio/transcriptions')) return answerTranscription(answers, request.body)
    if (path.endsWith('/v2/translate')) return answerDeepl(answers, request)
    if (path.endsWith('/translate')) return answerLibretranslate(answers, request)
    for (const answer of dialects) {
      const reply = answer(request)
      if (reply !== null) return reply
    }
    return jsonReply(404, { error: { message: 'Not Found' } })
  }

  return {
    url: `http://${host}:${await listen(server, host)}`,
    requests,
    renders: store.renders,
    started: store.started,
    setClock: store.setClock,
    conduct: store.conduct,
    answers,
    script: (...entries) => void scripted.push(...entries.map((entry) => ({ ...entry }))),
    unscript: () => void scripted.splice(0),
    received(method, path) {
      const wants = (request: ReceivedRequest) => request.method === method && matches(path, request.path)
      const earlier = requests.find((request) => !claimed.has(request) && wants(request))
      if (earlier === undefined) return new Promise((resolve) => waiting.push({ wants, resolve }))
      claimed.add(earlier)
      return Promise.resolve(earlier)
    },
    release: () => stalled.splice(0).forEach((proceed) => void proceed()),
    forget: () => store.renders.clear(),
    close: () => close(server),
  }
}

function send(response: ServerResponse, reply: Reply): void {
  if (response.destroyed) return
  response.writeHead(reply.status, { 'content-length': reply.body.length, ...reply.headers })
  response.end(reply.body)
}

async function readRequest(incoming: IncomingMessage): Promise<{ request: ReceivedRequest; whole: boolean }> {
  const { method = '', url: path = '', headers } = incoming
  const chunks: Buffer[] = []
  let whole = true
  try {
    for await (const chunk of incoming) chunks.push(chunk as Buffer)
  } catch {
    whole = false
  }
  const body = Buffer.concat(chunks)
  return { request: { method, path, headers, body, json: parse(body) }, whole }
}

function takeFault(scripted: ScriptEntry[], request: ReceivedRequest): Fault | null {
  const index = scripted.findIndex(
    ({ method, path }) =>
      (method === undefined || method === request.method) && (path === undefined || matches(path, request.path)),
  )
  const entry = scripted[index]
  if (entry === undefined) return null
  entry.times = (entry.times ?? 1) - 1
  if (entry.times <= 0) scripted.splice(index, 1)
  return typeof entry.fault === 'function' ? entry.fault(request) : entry.fault
}

function matches(wanted: string | RegExp, path: string): boolean {
  return typeof wanted === 'string' ? path.split('?')[0] === wanted : wanted.test(path)
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    return undefined
  }
}

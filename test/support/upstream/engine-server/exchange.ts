import type { IncomingMessage } from 'node:http'

export type ReceivedRequest = {
  method: string
  /** Path with its query. */
  path: string
  headers: IncomingMessage['headers']
  body: Buffer
  /** The parsed body when it is JSON, else undefined. */
  json: unknown
}

export type Reply = { status: number; headers: Record<string, string>; body: Buffer }

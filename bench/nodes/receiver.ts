import { createServer } from 'node:http'
import { Webhook } from 'standardwebhooks'
import { close, listen } from '../../test/support/listen.ts'

export type Receiver = {
  port: number
  /** Type and id of the object of every event that came, and a line for each delivery that could not be verified. */
  received: Set<string>
  /** With what deliveries are signed. */
  trust(secret: string): void
  stop(): Promise<void>
}

/** Takes deliveries of webhooks; each is noted before it is acknowledged. */
export async function startReceiver(): Promise<Receiver> {
  const received = new Set<string>()
  let webhook: Webhook | null = null
  const server = createServer(async (request, response) => {
    let body = ''
    try {
      for await (const chunk of request) body += chunk
      const event = webhook!.verify(body, request.headers as Record<string, string>) as {
        type: string
        data: { id: string }
      }
      received.add(`${event.type} ${event.data.id}`)
      response.writeHead(204).end()
    } catch (error) {
      if (!request.complete) return
      received.add(`unverified: ${error}`)
      response.writeHead(400).end()
    }
  })
  return {
    port: await listen(server),
    received,
    trust(secret) {
      webhook = new Webhook(secret)
    },
    stop: () => close(server),
  }
}

import { appendFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { Webhook } from 'standardwebhooks'

/**
 * Takes deliveries of webhooks on loopback of the machine it runs on: `node receiver.ts PORT FILE SECRET`. Each one whose signature is
 * right adds a line with its type and the id of its object to FILE before it is acknowledged.
 */
const [port, file, secret] = process.argv.slice(2) as [string, string, string]
const webhook = new Webhook(secret)

createServer(async (request, response) => {
  let body = ''
  for await (const chunk of request) body += chunk
  try {
    const event = webhook.verify(body, request.headers as Record<string, string>) as {
      type: string
      data: { id: string }
    }
    appendFileSync(file, `${event.type} ${event.data.id}\n`)
    response.writeHead(204).end()
  } catch {
    appendFileSync(file, 'refused\n')
    response.writeHead(400).end()
  }
}).listen(Number(port), '127.0.0.1')

import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export type ReceivedSpan = {
  traceId: string
  spanId: string
  parentSpanId?: string
  name: string
  attributes: Record<string, string | number | boolean>
  links: Array<{ traceId: string; spanId: string }>
  /** Milliseconds. */
  duration_ms: number
}

/** A receiver of OTLP over HTTP, as JSON, on a real socket. `text` is everything it was sent. */
export async function startOtlpReceiver() {
  const spans: ReceivedSpan[] = []
  let text = ''
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const body = Buffer.concat(chunks).toString()
    text += body
    spans.push(...spansIn(JSON.parse(body)))
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/traces`,
    spans,
    text: () => text,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}

type Value = { stringValue?: string; intValue?: number | string; doubleValue?: number; boolValue?: boolean }
type OtlpSpan = Omit<ReceivedSpan, 'attributes' | 'duration_ms'> & {
  attributes: Array<{ key: string; value: Value }>
  startTimeUnixNano: string
  endTimeUnixNano: string
}
type Exported = { resourceSpans: Array<{ scopeSpans: Array<{ spans: OtlpSpan[] }> }> }

function spansIn({ resourceSpans }: Exported): ReceivedSpan[] {
  const all = resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans))
  return all.map((span) => ({
    ...span,
    links: span.links ?? [],
    attributes: Object.fromEntries(span.attributes.map(({ key, value }) => [key, plain(value)])),
    duration_ms: Number(BigInt(span.endTimeUnixNano) - BigInt(span.startTimeUnixNano)) / 1e6,
  }))
}

function plain({ stringValue, intValue, doubleValue, boolValue }: Value): string | number | boolean {
  return stringValue ?? boolValue ?? doubleValue ?? Number(intValue)
}

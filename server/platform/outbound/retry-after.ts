import type { OutboundReply } from './exchange.ts'

/**
 * The wait that a reply asks for, in seconds, at most `seconds_max`: `retry-after-ms`, or `retry-after` as a number or as a date, which is
 * compared with the reply's own `date`. Undefined when it asks for none, or for what cannot be read.
 */
export function retryAfterSeconds(headers: OutboundReply['headers'], seconds_max = 3600): number | undefined {
  const text = (name: string) => String(headers[name] ?? '').trim()
  const [ms, value] = [text('retry-after-ms'), text('retry-after')]
  const seconds = NUMBER.test(ms)
    ? Number(ms) / 1000
    : NUMBER.test(value)
      ? Number(value)
      : (Date.parse(value) - Date.parse(text('date'))) / 1000
  return seconds >= 0 ? Math.min(seconds, seconds_max) : undefined
}

const NUMBER = /^\d{1,12}(\.\d+)?$/

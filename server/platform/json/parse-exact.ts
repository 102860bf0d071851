/** A JSON text as a value, with whole numbers that JavaScript cannot hold as text: ids among them. Undefined when it is not JSON. */
export function parseExact(text: string): unknown {
  const json = text.startsWith('\ufeff') ? text.slice(1) : text
  try {
    return LONG_NUMBER.test(json) ? JSON.parse(json, keepDigits) : JSON.parse(json)
  } catch {
    return undefined
  }
}

const LONG_NUMBER = /[:[,]\s*-?\d{16,}\s*[,}\]]/

function keepDigits(_key: string, value: unknown, context?: { source?: string }): unknown {
  const source = context?.source
  const exact = typeof value !== 'number' || source === undefined || Number.isSafeInteger(value)
  return exact || !/^-?\d+$/.test(source) ? value : source
}

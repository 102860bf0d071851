/** A refusal: the value, its code, its message, and its path where that is not the parameter itself. */
export type Refusal = [value: unknown, code: string, message: string, param?: string]
/** One parameter of the body: what it takes, what it refuses, and the members it needs beside it. */
export type Row = { name: string; takes: unknown[]; refuses: Refusal[]; beside?: Record<string, unknown> }

export const article = (kind: string) => `${/^[aeio]/.test(kind) ? 'an' : 'a'} ${kind}`
export const typed = (name: string, expected: string, got: string): string =>
  `Invalid type for '${name}': expected ${expected}, but got ${got} instead.`

/** Every JSON value that is not of the wanted type. `null` is none of them: it means absent, as an empty array does in the place of an object. */
export function wrongTypes(name: string, wanted: string, expected = article(wanted)): Refusal[] {
  const values: Array<[kind: string, value: unknown, shown: string]> = [
    ['string', 'x', 'a string'],
    ['boolean', true, 'a boolean'],
    ['array', [7], 'an array'],
    ['object', {}, 'an object'],
    ['integer', 1, 'an integer'],
    ['number', 0.5, 'a decimal number'],
  ]
  const fits = (kind: string) => wanted.split('|').includes(kind) || (wanted === 'number' && kind === 'integer')
  return values
    .filter(([kind]) => !fits(kind))
    .map(([, value, shown]) => [value, 'invalid_type', typed(name, expected, shown)])
}

/** A number within limits, both included: just below, at, between and just above them. */
export function numberRow(
  name: string,
  kind: 'number' | 'integer',
  limits: { min?: number; max?: number; beside?: object },
): Row {
  const { min, max, beside } = limits
  const step = kind === 'integer' ? 1 : 0.001
  const word = kind === 'integer' ? 'integer' : 'decimal'
  const refuses: Refusal[] = []
  if (min !== undefined) {
    for (const value of [min - step, min - 1000]) {
      const text = `Invalid '${name}': ${word} below minimum value. Expected a value >= ${min}, but got ${value} instead.`
      refuses.push([value, `${word}_below_min_value`, text])
    }
  }
  if (max !== undefined) {
    for (const value of [max + step, 1e15]) {
      const text = `Invalid '${name}': ${word} above maximum value. Expected a value <= ${max}, but got ${value} instead.`
      refuses.push([value, `${word}_above_max_value`, text])
    }
  }
  const takes = [min ?? -7, max ?? 1_000_000, ((min ?? 0) + (max ?? 2)) / 2].filter(
    (n) => kind === 'number' || Number.isInteger(n),
  )
  return { name, takes, refuses: [...refuses, ...wrongTypes(name, kind)], ...(beside ? { beside: { ...beside } } : {}) }
}

/** A boolean, and nothing that looks like one. */
export const booleanRow = (name: string, beside = {}): Row => ({
  name,
  takes: [true, false],
  refuses: [...wrongTypes(name, 'boolean'), ['true', 'invalid_type', typed(name, 'a boolean', 'a string')]],
  beside,
})

/** What a rejection says: its code, message and path. */
export const missing = (param: string) =>
  ['missing_required_parameter', `Missing required parameter: '${param}'.`, param] as const
export const wrong = (param: string, expected: string, got: string) =>
  ['invalid_type', typed(param, expected, got), param] as const
export const value = (param: string, got: string, supported: string) =>
  ['invalid_value', `Invalid value: '${got}'. ${supported}`, param] as const
export const short = (param: string, kind: 'string' | 'array') => {
  const noun = kind === 'array' ? 'an array' : 'a string'
  const message = `Invalid '${param}': ${kind} too short. Expected ${noun} with minimum length 1, but got ${noun} with length 0 instead.`
  return [`${kind}_below_min_length`, message, param] as const
}

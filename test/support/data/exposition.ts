/** One line of Prometheus's text. */
export type Line = { name: string; labels: Record<string, string>; value: number }
export type Exposition = { types: Map<string, string>; lines: Line[] }

/** Reads the text format 0.0.4. Throws on a line it cannot read, so that nothing malformed is taken for nothing. */
export function readExposition(text: string): Exposition {
  const types = new Map<string, string>()
  const lines: Line[] = []
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('# HELP ')) continue
    const [, named, type] = /^# TYPE (\w+) (\w+)$/.exec(line) ?? []
    if (named && type) {
      if (types.has(named)) throw new Error(`${named} is declared twice`)
      types.set(named, type)
      continue
    }
    const [, name, labels = '', value] = /^(\w+)(?:\{(.*)\})? (\S+)$/.exec(line) ?? []
    if (!name || !value) throw new Error(`not a line of the text format: ${line}`)
    const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map(([, key, text]) => [key!, text!] as const)
    lines.push({ name, labels: Object.fromEntries(pairs), value: value === '+Inf' ? Infinity : Number(value) })
  }
  return { types, lines }
}

/** The sum of the values of a metric whose labels include these. */
export function sumOf({ lines }: Exposition, name: string, labels: Record<string, string> = {}): number {
  const fits = (line: Line) => Object.entries(labels).every(([key, value]) => line.labels[key] === value)
  return lines.filter((line) => line.name === name && fits(line)).reduce((sum, { value }) => sum + value, 0)
}

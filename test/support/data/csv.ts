/** Rows of a CSV text as RFC 4180 reads it. */
export function readCsv(text: string): string[][] {
  const rows: string[][] = [[]]
  for (let at = 0; at < text.length; ) {
    const quoted = /"((?:[^"]|"")*)"/y
    const plain = /[^",\r]*/y
    quoted.lastIndex = at
    plain.lastIndex = at
    const cell = text[at] === '"' ? quoted.exec(text)! : plain.exec(text)!
    rows.at(-1)!.push(text[at] === '"' ? cell[1]!.replaceAll('""', '"') : cell[0])
    at += cell[0].length
    if (text[at] === ',') {
      at += 1
      continue
    }
    if (text.slice(at, at + 2) !== '\r\n') throw new Error(`no end of a line at ${at}`)
    at += 2
    rows.push([])
  }
  return rows.slice(0, -1)
}

import { request } from 'node:http'

/** Reads ranges of one URL, one after another, and discards them. Arguments: URL, total size, size of a range, bytes to read. */
const [url, size, step, total, authorization] = process.argv.slice(2) as [string, string, string, string, string]

for (let done = 0; done < Number(total); done += Number(step)) {
  const start = done % Number(size)
  await read(start, Math.min(start + Number(step), Number(size)) - 1)
}

function read(start: number, end: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { range: `bytes=${start}-${end}`, authorization }
    const asked = request(url, { headers }, (answer) => {
      if (answer.statusCode !== 206) return reject(new Error(`status ${answer.statusCode}`))
      let bytes = 0
      answer.on('data', (chunk: Buffer) => {
        bytes += chunk.length
      })
      answer.on('error', reject)
      answer.on('end', () => (bytes === end - start + 1 ? resolve() : reject(new Error(`${bytes} bytes`))))
    })
    asked.on('error', reject).end()
  })
}

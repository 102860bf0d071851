import { appendFileSync, readFileSync } from 'node:fs'
import { relative } from 'node:path'
import { ROOT } from './sources.ts'

/**
 * Adds one line of JSON to the file `KINORA_TEST_TIMES` for each test file: the processor seconds of its process, and those of the processes
 * it started and saw end. Loaded before the tests, `node --import`; the database, which all share, is not in it. Linux only.
 */
const file = process.env.KINORA_TEST_TIMES
const main = process.argv[1] ?? ''
if (file !== undefined && main.endsWith('.test.ts')) {
  process.on('exit', () => {
    // proc(5): fields 14 to 17, in ticks of 1/100 s, counted after the name of the program, which may have spaces.
    const stat = readFileSync('/proc/self/stat', 'utf8')
    const [user = 0, system = 0, childUser = 0, childSystem = 0] = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .slice(11, 15)
      .map(Number)
    const seconds = { own: (user + system) / 100, children: (childUser + childSystem) / 100 }
    appendFileSync(file, `${JSON.stringify({ file: relative(ROOT, main), ...seconds })}\n`)
  })
}

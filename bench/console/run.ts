import type { Row } from '../support/row.ts'
import { runLive } from './live.ts'
import { runPages } from './pages.ts'

export async function run(): Promise<Row[]> {
  return [...(await runPages()), ...(await runLive())]
}

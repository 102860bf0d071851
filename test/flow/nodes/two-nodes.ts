import type { Engines } from '../../../server/engines/registry.ts'
import type { Clock } from '../../../server/platform/clock.ts'
import { newCustomer, startApp, type TestApp, type TestPerson } from '../../support/http/app.ts'

type NodeOptions = { config?: string; engines?: Engines; background?: boolean; clock?: Clock; database_url?: string }

/** Two nodes of one service, on one database and one blob store, and a customer of both. */
export type TwoNodes = { a: TestApp; b: TestApp; customer: TestPerson; close(): Promise<void> }

/** Starts two nodes, which may differ in configuration, clock and way to the database. Only with `background` do they work on jobs. */
export async function startTwoNodes(
  options: { a?: NodeOptions; b?: (a: TestApp) => Promise<NodeOptions> | NodeOptions } = {},
): Promise<TwoNodes> {
  const a = await startApp(options.a)
  const b = await startApp({ ...(await options.b?.(a)), beside: a })
  const customer = await newCustomer(a)
  return {
    a,
    b,
    customer,
    async close() {
      await b.close()
      await a.close()
    },
  }
}

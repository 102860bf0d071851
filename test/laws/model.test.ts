import fc from 'fast-check'
import { formatMoney } from '../../server/platform/money.ts'
import { startApp } from '../support/http/app.ts'
import { law } from '../support/law.ts'
import { trials } from '../tiers.ts'
import { assertClean, COMMANDS, type Model, PRICES, type Real, SLOTS } from './model.ts'
import { newPayer, SCRIPTED_CONFIG, type ScriptedApp, scriptedEngines, startScriptedApp } from './scripted-app.ts'

/** Sequences of commands; a long run asks for more. With `SHRINK` set a failure is made as short as it can be, which takes its time. */
const RUNS = trials(30)
const OPENING = 80_000_000n

law('whatever happens in whatever order, the books are what a model kept by hand says', async (seed) => {
  const first = await startScriptedApp({ slots: SLOTS })
  const prices: ScriptedApp[] = [first]
  try {
    for (const price of PRICES.slice(1)) {
      const config = SCRIPTED_CONFIG(SLOTS).replace('"0.010000"', `"${formatMoney(price, 6)}"`)
      const beside = { database: first.database, dir: first.dir, secret: first.secret }
      const app = await startApp({ config, engines: scriptedEngines(first.script), beside })
      app.ctx.clock = first.clock
      prices.push(Object.assign(app, { script: first.script }))
    }
    const property = fc.asyncProperty(fc.commands(COMMANDS, { size: 'max', maxCommands: 100 }), async (commands) => {
      const payer = await newPayer(first, OPENING)
      Object.assign(first.script, { render: 'succeed', moderation: 'allow' })
      const model: Model = { balance: OPENING, jobs: new Map(), price: 0, keys: new Map() }
      const real: Real = { prices, payer, script: first.script }
      await fc.asyncModelRun(() => ({ model, real }), commands)
      await assertClean(first)
      await endAll(first)
    })
    await fc.assert(property, {
      seed,
      numRuns: RUNS,
      endOnFailure: process.env.SHRINK === undefined,
      interruptAfterTimeLimit: 120_000,
    })
  } finally {
    for (const app of prices.reverse()) await app.close()
  }
})

/** What is still running would be worked on in the next run. */
async function endAll(app: ScriptedApp): Promise<void> {
  Object.assign(app.script, { render: 'start_refused', moderation: 'block' })
  for (let steps = 0; steps < 3; steps++) {
    await app.tick()
    for (const each of [700, 0]) app.clock.advance(each)
  }
  await app.tick()
  await assertClean(app)
}

import { startApp } from '../support/http/app.ts'

/** A node in a process of its own, which can be killed: `beside` and the configuration are given as JSON. Prints its URL. */
const { config, beside } = JSON.parse(process.argv[2]!)
const app = await startApp({ config, beside, background: true })
process.stdout.write(`${app.url}\n`)

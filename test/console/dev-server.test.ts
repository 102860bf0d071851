import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { createServer, type ViteDevServer } from 'vite'
import { startApp, type TestApp } from '../support/app.ts'
import { ROOT } from '../support/sources.ts'

let app: TestApp
let server: ViteDevServer
let url: string
before(async () => {
  app = await startApp()
  process.env.KINORA_BASE_URL = app.url
  server = await createServer({
    configFile: join(ROOT, 'console', 'vite.config.ts'),
    server: { host: '127.0.0.1', port: 0, hmr: false, watch: null },
    optimizeDeps: { noDiscovery: true },
    logLevel: 'silent',
  })
  await server.listen()
  url = server.resolvedUrls!.local[0]!
})
after(async () => {
  await server?.close()
  await app?.close()
})

/** What the console asks the service for or links to; everything else is the console itself. */
for (const path of ['/v1/models', '/console/site', '/docs', '/openapi.json', '/terms?lang=ja']) {
  test(`the development server answers ${path} as the service does`, async () => {
    const accept = { headers: { accept: 'text/html, application/json' } }
    const [here, there] = await Promise.all([fetch(new URL(path, url), accept), fetch(app.url + path, accept)])
    assert.equal(here.status, there.status)
    const [page, expected] = await Promise.all([here.text(), there.text()])
    assert.equal(page.replace(/req_\w+/, ''), expected.replace(/req_\w+/, ''))
  })
}

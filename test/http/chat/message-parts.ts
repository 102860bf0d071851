import assert from 'node:assert/strict'
import type { TestPerson } from '../../support/http/app.ts'
import type { ChatApp } from '../../support/http/chat-app.ts'
import { uploaded } from '../../support/http/files-app.ts'
import { type HttpResponse, send } from '../../support/http/send.ts'

/** How an API names the message that has the parts, and a part of text. */
const FORMS = {
  chat: { path: '/v1/chat/completions', member: 'messages', text: 'text' },
  responses: { path: '/v1/responses', member: 'input', text: 'input_text' },
} as const

/** Sends parts in one user message to one of the two APIs and looks at what the engine was given for them. `app` is asked at each use. */
export function messageParts(app: () => ChatApp, api: keyof typeof FORMS) {
  const { path, member: list, text } = FORMS[api]

  function ask(content: readonly unknown[], model = 'm'): Promise<HttpResponse> {
    const { app: running, person } = app()
    return send(running, 'POST', path, { key: person.key }, { model, [list]: [{ role: 'user', content }] })
  }

  return {
    ask,
    /** The content the engine was given for these: the parts, or their text when there is nothing else. */
    // biome-ignore lint/suspicious/noExplicitAny: parts of many shapes.
    async given(content: readonly unknown[], model = 'm'): Promise<any> {
      const { status, body } = await ask(content, model)
      assert.equal(status, 200, JSON.stringify(body))
      return app().asked().messages[0].content
    },
    /** The message of the refusal of a part behind a text. The engine is not asked. */
    async assertRefused(part: object, code: string, member: string, message = /./, model = 'm'): Promise<string> {
      const { upstream } = app()
      const before = upstream.requests.length
      const { status, body } = await ask([{ type: text, text: 'Look' }, part], model)
      const param = `${list}[0].content[1].${member}`
      const what = JSON.stringify([part, body]).slice(0, 500)
      assert.deepEqual([status, body.error?.code, body.error?.param], [400, code, param], what)
      if (/^invalid_(file|image)/.test(code)) assert.ok(body.error.message.startsWith(`Invalid '${param}': `), what)
      assert.match(body.error.message, message)
      assert.equal(upstream.requests.length, before)
      return body.error.message
    },
    /** Uploads a file and returns its id. */
    async upload(
      bytes: Uint8Array | string,
      purpose: string,
      { filename = 'a.bin', who = app().person }: { filename?: string; who?: TestPerson } = {},
    ): Promise<string> {
      return (await uploaded({ url: app().app.url, key: who.key }, bytes, { purpose, filename })).id
    },
  }
}

export function dataUrl(type: string, bytes: Uint8Array | string): string {
  return `data:${type};base64,${Buffer.from(bytes).toString('base64')}`
}

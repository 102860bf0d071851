import { after } from 'node:test'
import { chatTranslation } from '../../../server/engines/translation/chat.ts'
import { startEngineServer } from '../../support/upstream/engine-server/server.ts'
import { ok } from '../reply-faults.ts'
import { translationEngineContract } from './contract.ts'
import { serverFaults } from './server-faults.ts'

const server = await startEngineServer()
const engine = chatTranslation({ kind: 'chat', base_url: server.url, model: 'm', timeout_seconds: 1 })
after(async () => {
  await engine.close?.()
  await server.close()
})

const answer = (content: unknown, finish_reason = 'stop') => ok({ choices: [{ finish_reason, message: { content } }] })

translationEngineContract(() => ({
  name: 'chat',
  engine,
  losing() {
    const { chat } = server.answers
    let asked = 0
    server.answers.chat = (body) => (++asked === 1 ? '{"translation":"A cat says it."}' : chat(body))
    return '猫が<d>はい</d>と言う'
  },
  ...serverFaults(server, {
    'no choices': ok({ choices: [] }),
    'no text': answer(null),
    'plain text': answer('A cat walks.'),
    'JSON of another shape': answer('{"text":"A cat walks."}'),
    'cut by length': answer('{"translation":"A cat"}', 'length'),
    'filtered by the server': answer('{"translation":"A cat"}', 'content_filter'),
  }),
}))

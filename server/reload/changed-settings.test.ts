import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Config } from '../config/config.ts'
import { changedSettings } from './changed-settings.ts'

test('models in another order are a change that needs no restart', () => {
  const of = (...ids: string[]) => {
    const config = { chat_models: ids.map((id) => ({ id })), previous_secrets: [] } as unknown as Config
    return { config, secrets: ['a secret'] as const }
  }
  assert.deepEqual(changedSettings(of('a', 'b'), of('b', 'a')), ['chat_models (order)'])
  assert.deepEqual(changedSettings(of('a', 'b'), of('a', 'b')), [])
})

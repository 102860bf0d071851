import assert from 'node:assert/strict'
import type { BackgroundApp } from '../../support/http/background-app.ts'

/** Submits background responses of one service and looks at them and their rows. `service` is asked at each use. */
export function backgroundRows(service: () => BackgroundApp) {
  const query = async (text: string, values: unknown[] = []) =>
    (await service().app.database.pool.query(text, values)).rows
  return {
    query,
    row: async (id: string) => (await query('select * from responses where id = $1', [id]))[0],
    async submitted(changes: Record<string, unknown> = {}, person = service().person): Promise<string> {
      const { status, body } = await service().submit(changes, person)
      assert.equal(status, 200, JSON.stringify(body))
      return body.id
    },
    read: async (id: string) => (await service().call('GET', id)).body,
  }
}

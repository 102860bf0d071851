import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type pg from 'pg'
import { ROOT } from '../sources.ts'

/** The version that was released last: its last migration, and every statement that its tests sent to the database. */
export type Released = { migration: number; statements: string[] }

export const RELEASED_FILE = join(ROOT, 'test/support/released/statements.json')

export function readReleased(): Released {
  return JSON.parse(readFileSync(RELEASED_FILE, 'utf8')) as Released
}

/** Why the database would refuse a statement, whatever its parameters: a column that is gone, or a name that two tables have now. Null: it would not. */
export async function refusalOf(client: pg.ClientBase, statement: string): Promise<string | null> {
  try {
    await client.query(`prepare released as ${statement}`)
    await client.query('deallocate released')
    return null
  } catch (error) {
    return (error as Error).message
  }
}

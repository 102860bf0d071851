import type { Chance } from '../storyboard/chance.ts'
import type { Clues } from './clues.ts'
import type { CheckBudget } from './schema-check.ts'
import type { Schema } from './schema-view.ts'

/** What one value is made with. `variation` asks for another value than the lower numbers gave. */
export type Place = { name: string; depth: number; variation: number }

/** One answer in the making: what it may draw on, and how much of it there is already. */
export type Work = {
  root: Schema
  clues: Clues
  chance: Chance
  values: number
  nesting: number
  checks: CheckBudget
  /** One value for one part of the schema, `IMPOSSIBLE` where there is none. */
  make(schema: Schema, place: Place): unknown
}

/** Nothing satisfies the schema. */
export const IMPOSSIBLE = Symbol('impossible')

/** Beyond these many values only what is required is made. */
export const VALUES_FULL = 500

/** From this depth on optional members are left out and the shortest branch is taken. */
export const DEPTH_FULL = 3

import { database } from './database.ts'
import { outside } from './outside.ts'
import { processes } from './processes.ts'
import { secrets } from './secrets.ts'
import { storage } from './storage.ts'
import type { Way } from './way.ts'

/** Every way, in the order in which they are tried. */
export const WAYS: readonly Way[] = [...processes, ...database, ...storage, ...outside, ...secrets]

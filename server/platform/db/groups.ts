import { takingTurnsAs, turnOwner } from '../turns.ts'
import { answered, isDatabaseDown } from './db.ts'

/** Most items in one group, and of each owner where several have any: what one of them writes is waited for by the others. */
const GROUP_MAX = 200
const SHARE_MAX = 8
/** A write that takes longer has lost its connection, and must not block the groups after it. */
const ANSWER_SECONDS = 20

type Waiting = { owner: string; item: unknown; resolve: (result: never) => void; reject: (error: unknown) => void }

/** Writes that share a commit: while one group is being written, the next one fills. */
export type Groups = {
  /**
   * Writes `item` with the others of its group. `write` gets them in the order they joined, one group at a time, and returns one result
   * for each: an Error rejects that item alone; what it throws rejects all of them, and so does a database that does not answer. All who
   * join a group of one name must give the same `write`. It runs without an owner, since it may write for many (`takingTurnsAs`).
   * Where several owners wait, each has a few items in a group, so that none waits long for all that another writes.
   */
  join<Item, Result>(
    name: string,
    item: Item,
    write: (items: readonly Item[]) => Promise<ReadonlyArray<Result | Error>>,
  ): Promise<Result>
}

export function openGroups({ answer_seconds = ANSWER_SECONDS }: { answer_seconds?: number } = {}): Groups {
  const lines = new Map<string, Waiting[]>()

  const serve = async (name: string, write: (items: never) => Promise<readonly unknown[]>): Promise<void> => {
    const line = lines.get(name)!
    while (line.length > 0) {
      const group = takeGroup(line)
      try {
        const results = await answered(write(group.map(({ item }) => item) as never), answer_seconds)
        for (const [i, { resolve, reject }] of group.entries()) {
          const result = results[i]
          if (result instanceof Error) reject(result)
          else resolve(result as never)
        }
      } catch (error) {
        for (const { reject } of group) reject(error)
      }
    }
    // Synchronously after the last check: an item that joins later opens another line.
    lines.delete(name)
  }

  return {
    join(name, item, write) {
      const { promise, resolve, reject } = Promise.withResolvers<never>()
      const line = lines.get(name)
      const waiting = { owner: turnOwner(), item, resolve, reject }
      if (line) line.push(waiting)
      else {
        lines.set(name, [waiting])
        // What comes in this same turn of the event loop shares the first commit already.
        const begin = () => void serve(name, write as (items: never) => Promise<readonly unknown[]>)
        setImmediate(() => takingTurnsAs('', begin))
      }
      return promise
    },
  }
}

/** Removes the items of the next group from the line. */
function takeGroup(line: Waiting[]): Waiting[] {
  if (line.every(({ owner }) => owner === line[0]!.owner)) return line.splice(0, GROUP_MAX)
  const counts = new Map<string, number>()
  const rest: Waiting[] = []
  const group: Waiting[] = []
  for (const each of line.splice(0)) {
    const count = counts.get(each.owner) ?? 0
    counts.set(each.owner, count + 1)
    const has_room = count < SHARE_MAX && group.length < GROUP_MAX
    ;(has_room ? group : rest).push(each)
  }
  line.push(...rest)
  return group
}

/**
 * Writes `items` in one commit, or, when that fails although the database is up, each in a commit of its own, in order, so that what is
 * wrong with one is an Error for that one alone. `write` writes all it is given or throws. Throws what `write` threw for a single item,
 * and what `isDatabaseDown` recognizes: after a commit whose answer was lost it is unknown what was written.
 */
export async function writeGroupOrEach<Item, Result>(
  items: readonly Item[],
  write: (items: readonly Item[]) => Promise<ReadonlyArray<Result | Error>>,
): Promise<ReadonlyArray<Result | Error>> {
  try {
    return await write(items)
  } catch (error) {
    if (isDatabaseDown(error) || items.length === 1) throw error
  }
  const results: Array<Result | Error> = []
  for (const item of items) {
    results.push(
      await write([item]).then(
        ([result]) => result as Result | Error,
        (error: Error) => error,
      ),
    )
  }
  return results
}

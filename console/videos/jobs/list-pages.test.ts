import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { VideoJob } from './job.ts'
import { dayOf, jobsWithin, joined, type KnownList, lengthOf, placeOf, withPage } from './list-pages.ts'

const PAGE = 5

/** The service: ids, newest first. */
function serve(ids: readonly string[], after: string | null) {
  const older = ids.filter((id) => after === null || id < after)
  const data = older.slice(0, PAGE).map((id) => ({ id, created_at: createdAt(id) }) as VideoJob)
  const last_id = data.at(-1)?.id ?? null
  return { data, first_id: data[0]?.id ?? null, last_id, has_more: older.length > PAGE }
}

/** Three jobs a day. */
const createdAt = (id: string) => Math.floor(Number(id.slice(1)) / 3) * 86_400

/** Ids from `newest` down. */
const idsFrom = (newest: number, count: number) => Array.from({ length: count }, (_, at) => `v${1000 + newest - at}`)

/** Reads a page and adds it to the list. */
function read(list: KnownList | undefined, ids: readonly string[], after: string | null): KnownList {
  return withPage(list, after, serve(ids, after))
}

function readAll(ids: readonly string[]): KnownList {
  let list = read(undefined, ids, null)
  while (list.tail.next !== null) list = read(list, ids, list.tail.next)
  return list
}

/** Every job by its place, as the gallery finds it. */
function shown({ pages }: KnownList, ids: readonly string[]): string[] {
  return Array.from({ length: lengthOf(pages) }, (_, index) => {
    const { page, within } = placeOf(pages, index)!
    return jobsWithin(serve(ids, pages[page]!.after).data, pages[page + 1]?.after)[within]!.id
  })
}

test('a list read page by page shows every job once, in order', () => {
  for (const count of [0, 1, 5, 6, 23]) {
    const ids = idsFrom(count, count)
    const list = readAll(ids)
    assert.deepEqual(shown(list, ids), ids)
    const days = joined(ids.map((id) => ({ day: dayOf(createdAt(id)), count: 1 })))
    assert.deepEqual(joined(list.pages.flatMap((mark) => mark.days)), days)
    assert.deepEqual(list.tail, { has_more: false, next: null })
  }
})

test('jobs that came in since are shown once the first page was read again, however many', () => {
  const before = idsFrom(12, 12)
  for (const more of [1, 5, 6, 14]) {
    const ids = [...idsFrom(12 + more, more), ...before]
    let list = readAll(before)
    for (let at = 0; at < list.pages.length; at += 1) list = read(list, ids, list.pages[at]!.after)
    assert.deepEqual(shown(list, ids), ids, `${more} more`)
  }
})

test('deleted jobs leave neither a gap nor a duplicate', () => {
  const before = idsFrom(23, 23)
  const ids = before.filter((_, at) => ![0, 4, 5, 11, 12, 22].includes(at))
  let list = readAll(before)
  for (const { after } of list.pages) list = read(list, ids, after)
  assert.deepEqual(shown(list, ids), ids)
})

test('what a filtered page no longer looks at, as jobs came in since, is read again', () => {
  const LOOKED_AT = 6
  const [wanted] = idsFrom(7, 1)
  const readFiltered = (list: KnownList | undefined, ids: readonly string[], after: string | null) => {
    const older = ids.filter((id) => after === null || id < after)
    const seen = older.slice(0, LOOKED_AT)
    const data = seen.filter((id) => id === wanted).map((id) => ({ id, created_at: createdAt(id) }) as VideoJob)
    const has_more = older.length > LOOKED_AT
    return withPage(list, after, { data, first_id: wanted!, last_id: seen.at(-1) ?? null, has_more })
  }
  const before = idsFrom(12, 12)
  let list = readFiltered(undefined, before, null)
  list = readFiltered(list, before, list.tail.next)
  assert.equal(lengthOf(list.pages), 1)
  const ids = [...idsFrom(14, 2), ...before]
  list = readFiltered(list, ids, null)
  // The gallery reads the pages of the places that it shows.
  for (const { after, count } of list.pages) if (count > 0) list = readFiltered(list, ids, after)
  assert.equal(lengthOf(list.pages), 1)
})

test('a place beyond the end is null', () => {
  assert.equal(placeOf(readAll(idsFrom(6, 6)).pages, 6), null)
})

import { useNavigate, useSearch } from '@tanstack/react-router'
import { useMemo } from 'react'
import { readStored, store } from '../../api/personal-storage.ts'
import { ALL, type ListFilter } from '../jobs/job-cache.ts'

/** Statuses that are asked for together. */
export const STATUS_CHOICES = {
  running: 'moderating,translating,queued,in_progress',
  completed: 'completed',
  failed: 'failed',
  canceled: 'canceled',
} as const

const AMOUNT = /^\d{1,10}(\.\d{1,8})?$/
const SECONDS = /^\d{1,11}$/
/** What the service takes of each, so that an address that somebody has changed shows a list all the same. */
const TAKEN = {
  search: (text: string) => [...text].length <= 200,
  user_id: (text: string) => text.length <= 64,
  status: (text: string) => (Object.values(STATUS_CHOICES) as string[]).includes(text),
  model: (text: string) => text.length <= 256,
  created_after: (text: string) => SECONDS.test(text),
  created_before: (text: string) => SECONDS.test(text),
  cost_min: (text: string) => AMOUNT.test(text),
  cost_max: (text: string) => AMOUNT.test(text),
  tag: (text: string) => [...text].length <= 50,
  favorite: (text: string) => text === 'true',
}
export type FilterName = keyof typeof TAKEN
export type Filter = { [Name in FilterName]?: string }
const FILTER_NAMES = Object.keys(TAKEN) as FilterName[]

/** Which videos the gallery shows: the address has it, in the names of the query of `GET /v1/videos`. */
export function useFilter(): {
  filter: Filter
  query: ListFilter
  change: (changes: Filter) => void
  clear: () => void
} {
  const navigate = useNavigate()
  const search = useSearch({ from: '/shell/videos' })
  const key = JSON.stringify(FILTER_NAMES.map((name) => [name, search[name] ?? '']))
  const filter = useMemo(() => filterOf(Object.fromEntries(JSON.parse(key))), [key])
  const go = (changes: Filter) =>
    void navigate({
      to: '.',
      search: (before) => addressOf({ ...before, ...changes }),
      replace: true,
      resetScroll: false,
    })
  return {
    filter,
    query: Object.keys(filter).length === 0 ? ALL : filter,
    change: go,
    clear: () => go(Object.fromEntries(FILTER_NAMES.map((name) => [name, '']))),
  }
}

/** Whether the service takes this text for a filter, or it is none. */
export function isTaken(name: FilterName, text: string): boolean {
  return text === '' || TAKEN[name](text)
}

/** What an address filters by. */
export function filterOf(search: Record<string, unknown>): Filter {
  const given = FILTER_NAMES.flatMap((name) => {
    const text = String(search[name] ?? '')
    return text !== '' && isTaken(name, text) ? [[name, text]] : []
  })
  return Object.fromEntries(given) as Filter
}

/** Without what is empty, and numbers and `true` as such: the address would have them in quotation marks. */
function addressOf(search: object): Record<string, string | number | boolean> {
  const given = Object.entries(search).filter(([, value]) => value !== '' && value !== undefined)
  return Object.fromEntries(
    given.map(([name, value]) => [name, value === 'true' || (String(Number(value)) === value ? Number(value) : value)]),
  )
}

/** Least width of a card in pixels. */
export const CARD_SIZES = { min: 160, max: 480, step: 20 }
const SIZE = 'card-size'
const SIZE_DEFAULT = 240

/** The least width of cards: of the address, else what was chosen last in this browser. */
export function useCardSize(): [number, (size: number) => void] {
  const navigate = useNavigate()
  const { size: given } = useSearch({ from: '/shell/videos' })
  const asked = Number(given ?? readStored(SIZE) ?? SIZE_DEFAULT)
  const size = asked >= CARD_SIZES.min && asked <= CARD_SIZES.max ? asked : SIZE_DEFAULT
  const choose = (next: number) => {
    store(SIZE, next)
    void navigate({ to: '.', search: (before) => ({ ...before, size: next }), replace: true, resetScroll: false })
  }
  return [size, choose]
}

import { useLanguage, useText } from '../../text/use-text.ts'

/** Numbers, money, bytes and times as the reader's language writes them. Times come as Unix seconds, money as decimal strings. */
export function useFormat() {
  const locale = useLanguage() === 'ja' ? 'ja-JP' : 'en-US'
  const t = useText('kit')
  // Not the words of Intl, whose Japanese for a moment ago means the present.
  return once(locale, () => formatsOf(locale, { past: t('just_now'), future: t('soon') }))
}

const made = new Map<string, unknown>()

/** Makes each value once per key. Objects of `Intl` are slow to make, and a gallery shows hundreds of amounts. */
function once<T>(key: string, make: () => T): T {
  if (!made.has(key)) made.set(key, make())
  return made.get(key) as T
}

type Moments = { past: string; future: string }

function formatsOf(locale: string, moments: Moments) {
  const number = new Intl.NumberFormat(locale)
  const compact = new Intl.NumberFormat(locale, { notation: 'compact', maximumFractionDigits: 1 })
  const percent = new Intl.NumberFormat(locale, { style: 'percent' })
  const dateTime = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' })
  const list = new Intl.ListFormat(locale, { style: 'narrow' })
  const date = new Intl.DateTimeFormat(locale, { dateStyle: 'medium' })
  const wait = new Intl.RelativeTimeFormat(locale, { numeric: 'always' })
  const relative = new Intl.RelativeTimeFormat(locale, { numeric: 'auto', style: 'short' })
  return {
    locale,
    number: (value: number) => number.format(value),
    compact: (value: number) => compact.format(value),
    percent: (share: number) => percent.format(share),
    dateTime: (seconds: number) => dateTime.format(seconds * 1000),
    date: (seconds: number) => date.format(seconds * 1000),
    list: (items: readonly string[]) => list.format(items),
    /** `5 min ago`, `in 3 days`; `now` in Unix seconds. */
    relative: (seconds: number, now = Date.now() / 1000) => relativeTo(relative, seconds - now, moments),
    /** `in 4 minutes`: never less than it takes. */
    inSeconds: (seconds: number) =>
      seconds > 60 ? wait.format(Math.ceil(seconds / 60), 'minute') : wait.format(seconds, 'second'),
    bytes: (bytes: number) => bytesIn(locale, bytes),
    money: (amount: string, currency: string, options: MoneyOptions = {}) => moneyIn(locale, amount, currency, options),
  }
}

export type MoneyOptions = {
  /** `exact` shows every digit that is not zero; `short` rounds as the currency is written, small amounts to what is left of them. */
  digits?: 'exact' | 'short'
  sign?: boolean
}

function moneyIn(locale: string, amount: string, currency: string, { digits = 'short', sign }: MoneyOptions): string {
  const usual = fractionDigitsOf(currency)
  const written = (amount.split('.')[1] ?? '').replace(/0+$/, '').length
  const tiny = Math.abs(Number(amount)) < 1 && Number(amount) !== 0
  const most = digits === 'exact' || tiny ? Math.max(usual, written) : usual
  const maximumFractionDigits = digits === 'exact' ? most : Math.min(most, Math.max(usual, 4))
  const key = `${locale} ${currency} ${maximumFractionDigits} ${sign ? 'signed' : ''}`
  const format = once(key, () => {
    const style = { style: 'currency', currency: currency.toUpperCase() } as const
    const signs = sign ? ({ signDisplay: 'exceptZero' } as const) : {}
    return new Intl.NumberFormat(locale, { ...style, ...signs, minimumFractionDigits: usual, maximumFractionDigits })
  })
  // Strings are formatted exactly; a number would go through a float.
  return format.format(amount as `${number}`)
}

function fractionDigitsOf(currency: string): number {
  return once(`digits of ${currency}`, () => {
    const format = new Intl.NumberFormat('en', { style: 'currency', currency: currency.toUpperCase() })
    return format.resolvedOptions().maximumFractionDigits ?? 2
  })
}

const UNITS = ['byte', 'kilobyte', 'megabyte', 'gigabyte', 'terabyte']

function bytesIn(locale: string, bytes: number): string {
  const power = Math.min(UNITS.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, bytes)) / 3)))
  const value = bytes / 1000 ** power
  const maximumFractionDigits = value < 10 && power > 0 ? 1 : 0
  const unit = UNITS[power]!
  const unitDisplay = power === 0 ? 'long' : 'short'
  const options = { style: 'unit', unit, unitDisplay, maximumFractionDigits } as const
  return once(`${locale} ${unit} ${maximumFractionDigits}`, () => new Intl.NumberFormat(locale, options)).format(value)
}

const SPANS: ReadonlyArray<[Intl.RelativeTimeFormatUnit, number]> = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
]

function relativeTo(format: Intl.RelativeTimeFormat, seconds: number, { past, future }: Moments): string {
  const span = SPANS.find(([, size]) => Math.abs(seconds) >= size)
  if (!span) return seconds > 0 ? future : past
  const [unit, size] = span
  return format.format(Math.round(seconds / size), unit)
}

/** An amount; its exact digits show on hover. */
export function Money({ amount, currency, ...options }: { amount: string; currency: string } & MoneyOptions) {
  const { money } = useFormat()
  return (
    <span className="tabular-nums" title={money(amount, currency, { ...options, digits: 'exact' })}>
      {money(amount, currency, options)}
    </span>
  )
}

/** A moment in Unix seconds, written in full, or by its distance from now with the full form on hover. */
export function DateTime({ at, relative }: { at: number; relative?: boolean }) {
  const format = useFormat()
  const full = format.dateTime(at)
  return (
    <time dateTime={new Date(at * 1000).toISOString()} title={full} className="whitespace-nowrap tabular-nums">
      {relative ? format.relative(at) : full}
    </time>
  )
}

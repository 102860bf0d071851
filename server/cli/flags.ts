import { parseArgs } from 'node:util'

/** One flag of a command. `value` names what it takes, such as `<id>`; without it the flag is a switch. */
export type Flag = { value?: string; help: string; required?: boolean; multiple?: boolean }
export type Flags = Readonly<Record<string, Flag>>

type ValueOf<F extends Flag> = F extends { value: string }
  ? F extends { multiple: true }
    ? string[]
    : F extends { required: true }
      ? string
      : string | undefined
  : boolean

/** What was given, by the flag's name: text, a list for `multiple`, true or false for a switch. */
export type GivenFlags<F extends Flags> = { [Name in keyof F]: ValueOf<F[Name]> }

/** A command that was written wrongly: exit code 2, with its usage. */
export class UsageError extends Error {
  override name = 'UsageError'
}

/**
 * Reads flags strictly, as `--flag value` or `--flag=value`. The flag named by `first` may be given without its name, before anything else
 * that is no flag. Throws UsageError that names the first mistake.
 */
export function parseFlags<const F extends Flags>(
  args: string[],
  flags: F,
  { first }: { first?: string | undefined } = {},
): { given: GivenFlags<F>; positionals: string[] } {
  const options = Object.fromEntries(
    Object.entries(flags).map(([name, flag]) => [
      name,
      { type: flag.value ? ('string' as const) : ('boolean' as const), multiple: flag.multiple ?? false },
    ]),
  )
  const { values, positionals } = parsed(args, options)
  if (first !== undefined) values[first] ??= positionals.shift()
  const given: Record<string, unknown> = {}
  for (const [name, flag] of Object.entries(flags)) {
    const value = values[name] ?? (flag.multiple ? [] : flag.value ? undefined : false)
    if (flag.required && value === undefined) throw new UsageError(`--${name} ${flag.value} is required: ${flag.help}`)
    if (value === '') throw new UsageError(`--${name} is empty`)
    given[name] = value
  }
  return { given: given as GivenFlags<F>, positionals }
}

/** For messages: whatever follows the first flag may be the value of one, and a secret. */
export function wordsBeforeFlags(args: readonly string[]): readonly string[] {
  const first = args.findIndex((arg) => arg.startsWith('-'))
  return first === -1 ? args : args.slice(0, first)
}

/** Throws UsageError when there is an argument that no command takes. */
export function rejectArguments(args: readonly string[], [unexpected]: readonly string[]): void {
  if (unexpected === undefined) return
  if (wordsBeforeFlags(args).includes(unexpected)) throw new UsageError(`unexpected argument ${unexpected}`)
  throw new UsageError('unexpected argument after a flag: put a value with spaces in quotation marks')
}

/** The flags as aligned lines of a help text. */
export function describeFlags(flags: Flags): string {
  const rows = Object.entries(flags).map(([name, { value, help, required }]) => {
    return [`  --${name}${value ? ` ${value}` : ''}`, `${help}${required ? ' (required)' : ''}`] as const
  })
  const width = Math.max(...rows.map(([left]) => left.length))
  return rows.map(([left, right]) => `${left.padEnd(width)}  ${right}`).join('\n')
}

function parsed(args: string[], options: Record<string, { type: 'string' | 'boolean'; multiple: boolean }>) {
  try {
    return parseArgs({ args, options, allowPositionals: true, strict: true })
  } catch (error) {
    throw new UsageError(
      (error as Error).message
        .split('\n', 1)[0]!
        .replace(/\. To specify.*$/, '')
        .replace(/\.$/, ''),
    )
  }
}

/** One thing wrong with the settings, and where: `kinora.yaml:12 plans.free`, `--port`, `KINORA_SECRET`. */
export type ConfigMistake = { place: string; message: string }

/** Members and positions from the top of the file to one value. */
export type Path = Array<string | number>

/** A whole number from a flag, else from the environment; null when neither is set. A mistake is added to `mistakes`. */
export function integerSetting(
  setting: { flag: string | undefined; env: string | undefined; name: string; min: number; max: number },
  mistakes: ConfigMistake[],
): number | null {
  const { flag, env, name, min, max } = setting
  const text = flag ?? env
  if (text === undefined) return null
  const value = /^\d{1,6}$/.test(text) ? Number(text) : Number.NaN
  if (value >= min && value <= max) return value
  const place = flag === undefined ? `KINORA_${name.toUpperCase()}` : `--${name}`
  mistakes.push({ place, message: `must be a whole number from ${min} to ${max}` })
  return null
}

/** One of `choices` from a flag, else from the environment; null when neither is set. A mistake is added to `mistakes`. */
export function choiceSetting<const T extends string>(
  setting: { flag?: string | undefined; env: string | undefined; name: string; choices: readonly T[] },
  mistakes: ConfigMistake[],
): T | null {
  const { flag, env, name, choices } = setting
  const text = flag ?? (env || undefined)
  if (text === undefined) return null
  const found = choices.find((each) => each === text)
  if (found !== undefined) return found
  const place = flag === undefined ? `KINORA_${name.toUpperCase()}` : `--${name}`
  mistakes.push({ place, message: `must be one of ${choices.join(', ')}` })
  return null
}

/** A path from a JSON pointer, or from one with points. */
export function toPath(pointer: string): Path {
  return pointer
    .split(pointer.startsWith('/') ? '/' : '.')
    .filter((part) => part !== '')
    .map((part) => (/^\d+$/.test(part) ? Number(part) : part.replaceAll('~1', '/').replaceAll('~0', '~')))
}

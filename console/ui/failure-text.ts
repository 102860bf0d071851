import { type Failure, failureOf } from '../api/failure.ts'
import type errors from '../text/en/errors.ts'
import { useText } from '../text/use-text.ts'

type Code = keyof typeof errors.code
type FieldText = keyof typeof errors.field

/** The text of a failure by its code, in the reader's language. An unknown code gets the text of its status. */
export function useFailureTexts(): (error: unknown) => string {
  const t = useText('errors')
  return (error) => {
    const { code, status } = failureOf(error)
    const text = t(`code.${code as Code}`)
    if (text !== `code.${code}`) return text
    if (status >= 500) return t('code.server_error')
    return t(status >= 400 ? 'code.invalid_request_error' : 'code.unexpected')
  }
}

/** The text of a failure; null for none. */
export function useFailureText(error: unknown): string | null {
  const textOf = useFailureTexts()
  return error === null || error === undefined ? null : textOf(error)
}

/** The error text of one form field; null when the failure is not about it. */
export function useFieldError(error: unknown): (field: string) => string | null {
  const t = useText('errors')
  const general = useFailureText(error)
  return (field) => {
    if (!isAbout(error, field)) return null
    const text = fieldTextOf(failureOf(error), field)
    return text === null ? general : t(`field.${text}`)
  }
}

/** Whether a failure names this field or something within it. */
export function isAbout(error: unknown, field: string): boolean {
  if (error === null || error === undefined) return false
  const { param } = failureOf(error)
  return param !== null && (param === field || param.startsWith(`${field}.`) || param.startsWith(`${field}[`))
}

function fieldTextOf({ code, status }: Failure, field: string): FieldText | null {
  if (field === 'email' && code === 'conflict') return 'member_already'
  if (status !== 400) return null
  if (code === 'missing_required_parameter') return 'missing'
  if (field === 'email') return 'invalid_email'
  if (code === 'string_below_min_length') return 'short'
  if (code === 'string_above_max_length') return 'long'
  return code.startsWith('invalid_file') ? null : 'invalid'
}

import { ApiError } from '../../platform/errors.ts'

/**
 * The email as it is stored: lower case. What an address may look like is the login library's rule, since a person with
 * another could never sign in. Throws ApiError `invalid_value`.
 */
export function readEmail(text: string): string {
  if (text.length > 254 || !EMAIL.test(text)) {
    throw new ApiError('invalid_value', `Invalid 'email': expected an address such as name@example.com.`, {
      param: 'email',
    })
  }
  return text.toLowerCase()
}

/** `regexes.email` of zod 4. Source: https://www.npmjs.com/package/zod */
const EMAIL = /^(?!\.)(?!.*\.\.)([A-Za-z0-9_'+\-.]*)[A-Za-z0-9_+-]@([A-Za-z0-9][A-Za-z0-9-]*\.)+[A-Za-z]{2,}$/

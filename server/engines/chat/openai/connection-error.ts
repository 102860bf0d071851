import { EngineError } from '../../engine-error.ts'
import { connectionLost, timedOut } from './read/error.ts'

/** undici's errors name hosts, so only their meaning is kept. `sent`: whether the request may have reached the server. */
export function connectionError(error: Error, sent: boolean): EngineError {
  if (!sent) return new EngineError('unreachable', 'The model server cannot be reached.')
  const code = 'code' in error ? error.code : undefined
  return code === 'UND_ERR_HEADERS_TIMEOUT' || code === 'UND_ERR_BODY_TIMEOUT' ? timedOut() : connectionLost()
}

/** The reason for undici when a reply is given up; nobody sees it. */
export function givenUp(): Error {
  return new Error('The request was given up.')
}

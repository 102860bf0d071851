import { EngineError } from '../../engine-error.ts'

/** The refusal of a request whose `field` asks for what this engine cannot do. */
export function refusal(field: string, reason: string): EngineError {
  const message = `${field}: ${reason}`
  return new EngineError('rejected', `The request has something that a local model cannot do.`, {
    public_message: message,
    param: field,
  })
}

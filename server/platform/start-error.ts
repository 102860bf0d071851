/** Why the service cannot start, in words for the operator: printed without a stack, exit code 1. */
export class StartError extends Error {
  override name = 'StartError'
}

import type { Context } from '../../context.ts'
import { RESPONSE_TOPIC } from './store/responses.ts'

/** `next` resolves at the first announcement of the response after the call. */
type ResponseChanges = { next(): Promise<void>; close(): void }

/** Listens for the announcements of one response. They are best effort: also read again after a while. */
export function listenFor({ changes }: Pick<Context, 'changes'>, id: string): ResponseChanges {
  let announced = Promise.withResolvers<void>()
  const close = changes.on(RESPONSE_TOPIC, (changed) => {
    if (changed === null || changed === id) announced.resolve()
  })
  return {
    next() {
      announced = Promise.withResolvers<void>()
      return announced.promise
    },
    close,
  }
}

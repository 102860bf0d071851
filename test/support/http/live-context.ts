import type { Context, LiveContext } from '../../../server/context.ts'

/** A context whose settings never change, where one is wanted whose settings may. It is the same object. */
export function liveContext(ctx: Context): LiveContext {
  return Object.assign(ctx, { use: () => ({ ctx, end: () => {} }) })
}

import type { NextSettings } from '../../reload/node.ts'
import type { Boot } from '../boot.ts'

/** `opened`: everything but the port. Then where it listens, or the reason why it cannot, for the operator. */
export type FromHttpProcess = { opened: true } | { ready: string } | { refused: string } | { reloaded: true }

/** Boot settings are the first message a process gets; `listen` allows it to take the port, and later ones have settings that take their place. */
export type ToHttpProcess = Boot | { listen: true } | { reload: NextSettings } | { skip: true }

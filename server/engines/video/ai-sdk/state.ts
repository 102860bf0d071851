import { EngineError } from '../../engine-error.ts'
import { unreadableReply } from '../../reply-error.ts'
import type { RenderState } from '../contract.ts'
import { isBlocked } from '../reply/blocked.ts'
import { failureError, type ProtocolWords } from '../reply/complaint.ts'
import { moderationError, noVideo, readPoll } from '../reply/read.ts'
import { viewOf } from '../reply/view.ts'
import type { Heard } from './heard.ts'
import type { VideoModelStatus } from './model.ts'

/** What a package reports, and what its provider's reply says beyond that. */
export function stateOf(status: VideoModelStatus, heard: Heard, words: ProtocolWords): RenderState {
  if (status.status === 'completed') {
    const has_clip = status.videos.length > 0
    if (isBlocked(heard.reply?.json, { has_clip })) return failed(moderationError(viewOf(heard.reply?.json)))
    return has_clip ? SUCCEEDED : failed(noVideo())
  }
  const read = readHeard(heard, words)
  // A package waits for every word that it does not know.
  if (status.status === 'pending') return read instanceof EngineError ? { state: 'running' } : read
  if (status.status !== 'error') throw unreadableReply('it has a status that is not known')
  const isRead = !(read instanceof EngineError) && (read.state === 'failed' || read.state === 'lost')
  return isRead ? read : failed(failureError(viewOf({ error: String(status.error) }), words))
}

/** The state in a reply of which a package could make nothing: one that is not a success, or a finished render without a clip. Throws EngineError. */
export function thrownState(heard: Heard, words: ProtocolWords): RenderState {
  const read = readHeard(heard, words)
  if (read instanceof EngineError) throw read
  return read
}

/** Outputs are asked for again when they are fetched: their URLs may hold the credential. */
const SUCCEEDED: RenderState = { state: 'succeeded', output: null }

function readHeard({ reply }: Heard, words: ProtocolWords): RenderState | EngineError {
  if (reply === null) return unreadableReply('the package has asked for none')
  try {
    const state = readPoll(reply, words, { url_needed: true })
    return state.state === 'succeeded' ? SUCCEEDED : state
  } catch (error) {
    if (error instanceof EngineError) return error
    throw error
  }
}

function failed(error: EngineError): RenderState {
  return { state: 'failed', error }
}

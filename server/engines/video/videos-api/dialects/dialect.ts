import type { EngineCall } from '../../../../platform/outbound/client.ts'
import type { InputName } from '../../capabilities.ts'
import type { Capabilities, RenderInput, RenderRequest } from '../../contract.ts'
import type { Ratio } from './sizes.ts'

/**
 * What of the configuration shapes a request. `sizes` are the operator's own pixels per ratio, `WxH`; `urlOf` is how a file is named where
 * the dialect has room for a URL.
 */
export type DialectOptions = {
  sizes?: Partial<Record<Ratio, string>> | undefined
  urlOf(input: RenderInput): Promise<string>
}

/** The body of a start. */
export type WrittenStart = { json: object } | { body: NonNullable<EngineCall['body']> }

/** One way of speaking `/v1/videos`: what it takes and how a start is written. Polling, output and errors are the same for all. */
export type VideosApiDialect = {
  /** Every input the protocol can carry. */
  inputs: ReadonlySet<InputName>
  references_max: Capabilities['references_max']
  media: Capabilities['media']
  cancel: Capabilities['cancel']
  /** Its renders can be listed, so that a start whose outcome is unknown can be looked for. */
  lists: boolean
  /** References are served at an address of their own. */
  separate_references: boolean
  start(request: RenderRequest, options: DialectOptions): Promise<WrittenStart>
}

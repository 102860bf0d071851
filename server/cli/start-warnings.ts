import type { Config } from '../config/config.ts'
import type { Context } from '../context.ts'
import type { Log } from '../platform/log.ts'
import { describeUnjudged } from '../videos/moderation/coverage.ts'

/**
 * Warns about defaults that an operator should replace before opening the service to others, about media that no moderation engine can
 * judge, and about engines that cannot reach the URLs of files they are given. Call it once the service listens: before, it has no URL.
 */
export function warnAtStart(ctx: Context, log: Log): void {
  warnAboutModeration(ctx.config, log)
  warnAboutTerms(ctx.config, log)
  const unjudged = describeUnjudged(ctx)
  if (unjudged !== null) log.warn('media_not_judged', { detail: unjudged })
  const unreachable = describeUnreachable(ctx)
  if (unreachable !== null) log.warn('engine_url_is_loopback', { detail: unreachable })
}

function warnAboutModeration(config: Config, log: Log): void {
  const { moderation } = config
  const kind = typeof moderation === 'string' ? moderation : moderation.kind
  if (kind !== 'rules') return
  log.warn('moderation_is_a_list', {
    detail: 'Moderation by rules is a deny list, not a classifier. Configure an engine before you open the service.',
  })
}

function warnAboutTerms({ terms }: Config, log: Log): void {
  if (terms.url !== null) return
  log.warn('terms_are_a_placeholder', {
    detail:
      'People agree to the placeholder terms at /terms before their first video. Publish your own and set terms.version and terms.url.',
  })
}

/**
 * The outside engines that are handed URLs of files which lead back to their own machine, in words for the operator's log; null when there
 * are none.
 */
export function describeUnreachable({
  engines,
  config,
  site,
}: Pick<Context, 'engines' | 'config' | 'site'>): string | null {
  if (!isLoopback(site.engine_url)) return null
  const seeing = new Set(
    config.chat_models.filter(({ capabilities }) => capabilities.some((each) => MEDIA.has(each))).map(({ id }) => id),
  )
  const rendering = [...engines.video].flatMap(([id, { members }]) => members.map((member) => [id, member] as const))
  const video = rendering.filter(([, { engine, model }]) => {
    const { media, modes } = engine.capabilities(model)
    return media === 'signed_url' && modes.size > 1
  })
  const chat = [...engines.chat].filter(([id, { engine }]) => engine.inputs === 'url' && seeing.has(id))
  const named = [...video, ...chat].flatMap(([id, { urls = [] }]) => {
    const outside = urls.filter((url) => !isLoopback(url))
    return outside.length === 0 ? [] : [`${id} (${outside.join(', ')})`]
  })
  if (named.length === 0) return null
  return (
    `These engines are handed URLs of files at ${site.engine_url}, which does not lead here from another machine: ${named.join('; ')}. ` +
    'Set engine_url to an address at which they reach this service, or have the bytes handed over: ' +
    'input_transport: data for video, inputs: data for chat.'
  )
}

const MEDIA: ReadonlySet<string> = new Set(['vision', 'video', 'audio'])

/** Whether a URL names the machine it is used on. */
function isLoopback(url: string): boolean {
  const { hostname } = new URL(url)
  return /^(localhost|.+\.localhost|127(\.\d+){3}|0\.0\.0\.0|\[::1?\])$/.test(hostname)
}

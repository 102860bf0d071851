import type { Context } from '../context.ts'

/**
 * The outside engines that are handed URLs of files which lead back to their own machine, in words for the operator's log; null when there
 * are none. Call it once the service listens: before, it has no URL.
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
  const video = [...engines.video].filter(([, { engine, model }]) => {
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

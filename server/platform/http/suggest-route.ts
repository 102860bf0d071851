import type { FastifyInstance } from 'fastify'

/** The prefix that base URLs of clients most often lack, or have twice. */
const PREFIX = '/v1'

/**
 * Collects the routes below `/v1` that are added to `http` from now on. The function returned gives the question that belongs in a 404:
 * ` Did you mean /v1/models?` when the path is one of them without its prefix, or with more in front of it; empty otherwise.
 */
export function suggestRoutes(http: FastifyInstance): (path: string) => string {
  const routes = new Map<string, RegExp>()
  http.addHook('onRoute', ({ url }) => {
    if (url.startsWith(`${PREFIX}/`) && !url.includes('*')) routes.set(url, patternOf(url))
  })
  return (path) => {
    const meant = candidates(path).find((each) => [...routes.values()].some((pattern) => pattern.test(each)))
    return meant === undefined ? '' : ` Did you mean ${meant}?`
  }
}

function candidates(path: string): string[] {
  const last = path.lastIndexOf(`${PREFIX}/`)
  return [PREFIX + path, ...(last > 0 ? [path.slice(last)] : [])]
}

/** A parameter matches one segment of a path. */
function patternOf(url: string): RegExp {
  const parts = url.split('/').map((part) => (part.startsWith(':') ? '[^/]+' : part.replace(/[^\w-]/g, '\\$&')))
  return new RegExp(`^${parts.join('/')}/?$`)
}

import { type Nginx, startNginx as startOn, withoutNginx } from '../../test/support/http/nginx.ts'
import { pinned } from '../support/cores.ts'

/** In place of its figure. */
export const NO_NGINX = 'not installed'

/** One nginx worker on loopback with `location` as its only location. Null when nginx is not installed. */
export async function startNginx(location: string): Promise<Nginx | null> {
  if (withoutNginx) return null
  return startOn(`location / { ${location} }`, (program, args) => pinned('subject', program, args))
}

/** nginx in front of a server, with connections kept. */
export function startNginxProxy({ url }: { url: string }, more = ''): Promise<Nginx | null> {
  const kept = 'proxy_http_version 1.1; proxy_set_header Connection "";'
  return startNginx(`proxy_pass ${new URL(url).origin}; ${kept} ${more}`)
}

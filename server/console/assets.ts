import { readdirSync, readFileSync } from 'node:fs'
import { extname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { entityTag } from '../platform/http/page.ts'
import { requestPath } from '../platform/http/server.ts'

const DIST = fileURLToPath(new URL('../../console/dist/', import.meta.url))

/** Pages of the console; each video, conversation and webhook endpoint has one below. Compared with console/routes.tsx by a test. */
export const CLIENT_PATHS = [
  '/billing',
  '/chat',
  '/files',
  '/guides',
  '/invitations/accept',
  '/invitations/choose',
  '/keys',
  '/members',
  '/settings',
  '/sign-in',
  '/usage',
  '/videos',
  '/webhooks',
]

/** Paths of the API and of files, where an error is always JSON. */
const NOT_PAGES = /^\/(v1|console|assets|docs|terms|healthz|readyz|metrics)(\/|$)|\.\w+$/

/** The page runs only our own scripts and styles, connects to no other origin, and cannot be framed. */
const PAGE_HEADERS = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' blob: data:",
    "media-src 'self' blob:",
    "font-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'self'",
    "frame-ancestors 'none'",
  ].join('; '),
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'same-origin',
  'permissions-policy': 'camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}

/** The name of a file under `/assets/` holds a hash of its content. */
const ASSET_HEADERS = {
  'cache-control': 'public, max-age=31536000, immutable',
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
}

const TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
}

/**
 * Serves the console: its page at `/`, and at CLIENT_PATHS for a browser that navigates there; its built files under `/assets/`. At an
 * unknown path a browser gets the same page with 404, and the console shows "not found". Programs get `unknown_url`, and so does every
 * client below the paths of the API. The files are read once, here; no path of a request reaches the file system.
 */
export function serveConsole(http: FastifyInstance, dist = DIST): void {
  const files = readBuilt(dist)
  const page = files.get('index.html') ?? newFile('index.html', Buffer.from(NOT_BUILT))
  http.get('/*', { config: { kinora: { accepts: new Set() } } }, (request, reply) => {
    const path = requestPath(request)
    const asset = path.startsWith('/assets/') ? files.get(path.slice(1)) : undefined
    if (asset) return sendFile(request, reply.headers(ASSET_HEADERS), asset)
    if (path !== '/' && !isNavigation(request)) return reply.callNotFound()
    if (path === '/' || isClientPath(path))
      return sendFile(request, reply.headers(PAGE_HEADERS).header('cache-control', 'no-cache'), page)
    if (NOT_PAGES.test(path)) return reply.callNotFound()
    return reply.status(404).headers(PAGE_HEADERS).header('cache-control', 'no-store').type(page.type).send(page.bytes)
  })
}

type Encoding = 'br' | 'gzip'
type BuiltFile = { type: string; etag: string; bytes: Buffer; encoded: Partial<Record<Encoding, Buffer>> }

/** Built files by path below `dist`; empty when the console was not built. */
function readBuilt(dist: string): Map<string, BuiltFile> {
  const files = new Map<string, BuiltFile>()
  for (const name of namesIn(dist)) {
    if (/\.(br|gz)$/.test(name)) continue
    files.set(name, newFile(name, readFileSync(join(dist, name))))
  }
  for (const name of namesIn(dist)) {
    const [, original, ending] = /^(.+)\.(br|gz)$/.exec(name) ?? []
    const file = original === undefined ? undefined : files.get(original)
    if (file) file.encoded[ending === 'br' ? 'br' : 'gzip'] = readFileSync(join(dist, name))
  }
  return files
}

function namesIn(dist: string): string[] {
  try {
    const entries = readdirSync(dist, { recursive: true, withFileTypes: true })
    const paths = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name))
    return paths.map((path) => relative(dist, path).replaceAll('\\', '/'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

function newFile(name: string, bytes: Buffer): BuiltFile {
  return { type: TYPES[extname(name)] ?? 'application/octet-stream', etag: entityTag(bytes), bytes, encoded: {} }
}

function sendFile(request: FastifyRequest, reply: FastifyReply, file: BuiltFile): FastifyReply {
  const encodings = Object.keys(file.encoded) as Encoding[]
  const encoding = encodings.find((each) => accepts(request, each))
  // One tag for each encoding: they are different bytes.
  const etag = encoding ? `${file.etag.slice(0, -1)}-${encoding}"` : file.etag
  reply.header('etag', etag)
  if (encodings.length > 0) reply.header('vary', 'accept-encoding')
  if (request.headers['if-none-match'] === etag) return reply.status(304).send()
  if (encoding) reply.header('content-encoding', encoding)
  return reply.type(file.type).send(encoding ? file.encoded[encoding] : file.bytes)
}

/** Source: RFC 9110, section 12.5.3; a quality of zero refuses. */
function accepts(request: FastifyRequest, encoding: Encoding): boolean {
  const offered = String(request.headers['accept-encoding'] ?? '').toLowerCase()
  return offered.split(',').some((part) => {
    const [name, ...parameters] = part.split(';').map((each) => each.trim())
    return name === encoding && !parameters.some((each) => /^q=0(\.0*)?$/.test(each))
  })
}

function isClientPath(path: string): boolean {
  return (
    CLIENT_PATHS.some((each) => path === each || path === `${each}/`) ||
    /^\/(chat|videos|webhooks)\/[^/]+\/?$/.test(path)
  )
}

/** Whether a browser navigates there: other clients get an error in JSON. */
function isNavigation(request: FastifyRequest): boolean {
  return /\btext\/html\b/.test(request.headers.accept ?? '')
}

const NOT_BUILT = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark"><title>Kinora</title></head>
<body>
<h1>The console is not built</h1>
<p>Run <code>npm run build</code> in the directory of Kinora, then start the service again.</p>
<p>The API works without it: <a href="/docs">its description</a>.</p>
</body>
</html>
`

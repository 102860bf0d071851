import type { LookupAddress } from 'node:dns'
import { Resolver } from 'node:dns/promises'
import { BlockList, isIP, type LookupFunction } from 'node:net'
import { buildConnector } from 'undici'
import { OutboundError } from './error.ts'

/**
 * Reads an address that came from outside. Only http and https, ports 80 and 443, no name or password inside, no literal address of
 * a private, loopback, link-local or reserved network. With `https_only`, https on port 443. Throws OutboundError `forbidden`.
 */
export function parsePublicUrl(text: string, { https_only = false } = {}): URL {
  if (text.length > URL_LENGTH_MAX || !URL.canParse(text)) throw new OutboundError('forbidden', 'The URL is not valid.')
  const url = new URL(text)
  const schemes = https_only ? ['https:'] : ['http:', 'https:']
  if (!schemes.includes(url.protocol)) throw new OutboundError('forbidden', 'The URL scheme is not allowed.')
  if (url.username !== '' || url.password !== '')
    throw new OutboundError('forbidden', 'The URL may not hold credentials.')
  const ports = https_only ? ['', '443'] : ['', '80', '443']
  if (!ports.includes(url.port)) throw new OutboundError('forbidden', 'The URL port is not allowed.')
  if (isPrivateLiteral(url.hostname) || /(^|\.)localhost\.?$/.test(url.hostname))
    throw new OutboundError('forbidden', 'The address is not public.')
  return url
}

/** Whether a URL names this machine by its loopback address or as `localhost`: for services under development. */
export function isLoopbackUrl(text: string): boolean {
  if (text.length > URL_LENGTH_MAX || !URL.canParse(text)) return false
  const { protocol, hostname, username, password } = new URL(text)
  if (!['http:', 'https:'].includes(protocol) || username !== '' || password !== '') return false
  return hostname === 'localhost' || hostname === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(hostname)
}

/**
 * Connects to public addresses only. The literal, every resolved address and the address of the open socket are checked, because a
 * name may resolve differently the second time it is asked. A refused connection carries not one byte of the request.
 */
export function guardedConnector({ lookup = askNameServers, timeout_ms = 10_000 } = {}): buildConnector.connector {
  const connect = buildConnector({ timeout: timeout_ms, allowH2: false, lookup: guardedLookup(lookup) })
  return (options, callback) => {
    if (isPrivateLiteral(options.hostname)) return callback(notPublic(), null)
    connect(options, (error, socket) => {
      if (error !== null) return callback(error, null)
      if (socket.remoteAddress !== undefined && isPublicAddress(socket.remoteAddress)) return callback(null, socket)
      socket.on('error', () => {})
      socket.destroy()
      callback(notPublic(), null)
    })
  }
}

/**
 * Requires that the host of a URL, read by `parsePublicUrl`, has addresses and that all of them are public: for a URL that somebody else
 * will fetch. Throws OutboundError `forbidden`.
 */
export function requirePublicHost(url: URL, lookup = askNameServers): Promise<void> {
  const hostname = url.hostname.replace(/^\[|\]$/g, '')
  if (isPublicAddress(hostname)) return Promise.resolve()
  return new Promise((resolve, reject) => {
    guardedLookup(lookup)(hostname, { all: true }, (error) => {
      if (error === null) resolve()
      else reject(error instanceof OutboundError ? error : new OutboundError('forbidden', 'The name has no address.'))
    })
  })
}

/** True for a globally routable unicast address. Anything else, unreadable text included, is not. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address)
  if (family === 4) return !RESERVED_4.check(address, 'ipv4')
  if (family === 6) return !RESERVED_6.check(address, 'ipv6')
  return false
}

const URL_LENGTH_MAX = 8192

/**
 * With 224.0.0.0/3 for multicast and the future.
 * Source: https://www.iana.org/assignments/iana-ipv4-special-registry/
 */
const RESERVED_4 = networks('ipv4', [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.31.196.0', 24],
  ['192.52.193.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['192.175.48.0', 24],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
])

/**
 * Everything outside 2000::/3, so mapped, translated (64:ff9b::), unique local and link-local addresses with it; inside it the
 * special networks, Teredo and 6to4, which carry an IPv4 address of somebody's choice. Source: https://www.iana.org/assignments/iana-ipv6-special-registry/
 */
const RESERVED_6 = networks('ipv6', [
  ['::', 3],
  ['4000::', 2],
  ['8000::', 1],
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['2620:4f:8000::', 48],
  ['3fff::', 20],
])

function networks(family: 'ipv4' | 'ipv6', subnets: ReadonlyArray<[address: string, prefix: number]>): BlockList {
  const list = new BlockList()
  for (const [address, prefix] of subnets) list.addSubnet(address, prefix, family)
  return list
}

function isPrivateLiteral(hostname: string): boolean {
  const literal = hostname.replace(/^\[|\]$/g, '')
  return isIP(literal) !== 0 && !isPublicAddress(literal)
}

const resolver = new Resolver({ timeout: 3000, tries: 2 })

/**
 * Asks the name servers of this machine, and not the system: its resolver works in two threads that the whole process shares, and names
 * that somebody else chose may be as slow as they like. The file of hosts is not read.
 */
const askNameServers: LookupFunction = (hostname, _options, callback) => {
  const asked = [resolver.resolve4(hostname), resolver.resolve6(hostname)]
  void Promise.allSettled(asked).then(([four, six]) => {
    const found: LookupAddress[] = []
    if (four!.status === 'fulfilled') for (const address of four!.value) found.push({ address, family: 4 })
    if (six!.status === 'fulfilled') for (const address of six!.value) found.push({ address, family: 6 })
    if (found.length > 0) callback(null, found)
    else callback((four as PromiseRejectedResult).reason, [])
  })
}

function guardedLookup(lookup: LookupFunction): LookupFunction {
  return (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, addresses) => {
      if (error !== null) return callback(error, '', 0)
      const found = Array.isArray(addresses) ? addresses : []
      const first = found[0]
      if (first === undefined || !found.every(({ address }) => isPublicAddress(address)))
        return callback(notPublic(), '', 0)
      if (options.all) return callback(null, found)
      callback(null, first.address, first.family)
    })
  }
}

function notPublic(): OutboundError {
  return new OutboundError('forbidden', 'The address is not public.')
}

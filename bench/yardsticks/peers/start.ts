import type { Upstream } from '../../chat/setup.ts'
import type { Rounds } from '../../support/row.ts'
import { BIFROST } from './bifrost.ts'
import { GOMODEL } from './gomodel.ts'
import { LITELLM } from './litellm.ts'
import type { Missing, Peer, PeerKind } from './peer.ts'
import { PORTKEY } from './portkey.ts'

/** Other gateways, all of which answer the same request from the same model server. */
const PEERS = { portkey: PORTKEY, litellm: LITELLM, bifrost: BIFROST, gomodel: GOMODEL } satisfies Record<
  string,
  PeerKind
>

export type PeerName = keyof typeof PEERS
export type Peers = Record<PeerName, { kind: PeerKind; peer: Peer | Missing }>

const NAMES = Object.keys(PEERS) as PeerName[]

/** Starts one after another. */
export async function startPeers(upstream: Upstream): Promise<Peers> {
  const started: Partial<Peers> = {}
  try {
    for (const name of NAMES) started[name] = { kind: PEERS[name], peer: await PEERS[name].start(upstream) }
  } catch (error) {
    await stopPeers(started)
    throw error
  }
  return started as Peers
}

export async function stopPeers(peers: Partial<Peers>): Promise<void> {
  for (const { peer } of Object.values(peers)) if (!('missing' in peer)) await peer.stop()
}

/** What to ask each of them for, by name; null where one is missing. */
export function eachPeer<Ask>(peers: Peers, ask: (peer: Peer, kind: PeerKind) => Ask): Record<PeerName, Ask | null> {
  const asks = NAMES.map((name) => {
    const { kind, peer } = peers[name]
    return [name, 'missing' in peer ? null : ask(peer, kind)] as const
  })
  return Object.fromEntries(asks) as Record<PeerName, Ask | null>
}

/** The yardsticks of a row. */
export function peerYardsticks(peers: Peers, rounds: Record<PeerName, readonly number[]>) {
  return NAMES.map((name): { name: string; rounds: Rounds; ratio_limit: number; note: string } => {
    const { kind, peer } = peers[name]
    const { name: shown, ratio_limit, lacks: note } = kind
    return { name: shown, rounds: 'missing' in peer ? peer : rounds[name], ratio_limit, note }
  })
}

import { cpuOf, cpuOfTree } from '../support/cpu.ts'
import { alternate, amountOf } from '../support/rounds.ts'
import { type Rounds, type Row, rowOf } from '../support/row.ts'
import { type Spent, spentEach, spentOn, totalOf } from '../support/spent.ts'
import { startBareProxy } from '../yardsticks/bare/start.ts'
import { NO_NGINX, startNginxProxy } from '../yardsticks/nginx.ts'
import {
  eachPeer,
  type PeerName,
  type Peers,
  peerYardsticks,
  startPeers,
  stopPeers,
} from '../yardsticks/peers/start.ts'
import { chat, chatBody, chatLoad, startChatService, startUpstream } from './setup.ts'

const CALLERS = 64
/** Of one round. */
const ANSWERS = amountOf(10_000)

/** CPU for one plain answer of 500 bytes with key, validation, balance and committed usage. Rounds alternate with those of the yardsticks. */
export async function run(): Promise<Row[]> {
  const upstream = await startUpstream({ events: 1, gap_ms: 0 })
  const service = await startChatService(upstream)
  const bare = await startBareProxy(upstream, 'forward')
  const nginx = await startNginxProxy(upstream)
  const peers = await startPeers(upstream)
  try {
    const own = chatLoad(`${service.url}/v1`, service, false)
    const answer = (target: Target, answers: number) => chat({ ...target, callers: CALLERS, amount: { answers } })
    const costOf =
      ({ pid }: { pid: number }, target: Target) =>
      async (answers: number) => {
        const before = cpuOf(pid)
        await answer(target, answers)
        return (cpuOf(pid) - before) / answers
      }
    const at = (url: string) => ({ ...own, url: `${url}/chat/completions` })
    const costs = await alternate(
      {
        bare: costOf(bare, at(`${bare.url}/v1`)),
        nginx: nginx && costOf(nginx, at(`${nginx.url}/v1`)),
        ...eachPeer(peers, ({ url, headers, model, pid }, { share }) => async (asked: number) => {
          const answers = Math.ceil(asked * share)
          const before = cpuOfTree(pid)
          await answer({ url: `${url}/chat/completions`, headers, body: chatBody(false, model) }, answers)
          return (cpuOfTree(pid) - before) / answers
        }),
        own: async (answers: number) => {
          const { spent } = await spentOn(service, () => answer(own, answers))
          return spentEach(spent, answers)
        },
      },
      { count: ANSWERS },
    )
    return rowsOf({ ...costs, nginx: nginx ? costs.nginx : { missing: NO_NGINX } }, peers)
  } finally {
    await stopPeers(peers)
    await nginx?.stop()
    await bare.stop()
    await service.stop()
    await upstream.stop()
  }
}

type Target = ReturnType<typeof chatLoad>
type Costs = { own: Spent[]; bare: number[]; nginx: Rounds } & Record<PeerName, number[]>

function rowsOf({ own, bare, nginx, ...rounds }: Costs, peers: Peers): Row[] {
  const name = 'Chat, plain answer of 500 bytes'
  const unit = 'µs CPU'
  return [
    rowOf({
      name: `${name}, Node`,
      unit,
      rounds: own.map(({ node }) => node),
      yardsticks: [
        { name: 'bare Node proxy', rounds: bare, ratio_limit: 2 },
        { name: 'nginx proxy_pass', rounds: nginx, ratio_limit: 3.5 },
        ...peerYardsticks(peers, rounds),
      ],
    }),
    rowOf({ name: `${name}, PostgreSQL`, unit, rounds: own.map(({ postgres }) => postgres), limit: 25 }),
    rowOf({ name: `${name}, Node and PostgreSQL`, unit, rounds: own.map(totalOf), limit: 110 }),
  ]
}

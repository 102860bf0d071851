import { chat, startChatService, startUpstream } from '../chat/setup.ts'
import { median } from '../support/cpu.ts'
import type { Row } from '../support/row.ts'
import type { BenchService } from '../support/service.ts'
import { perPiece, type Spent, spentOn } from '../support/spent.ts'
import { caller } from '../videos/create.ts'

const TURNS = 100
const CALLERS = 8
const ROUNDS = 5
/** Turns of one round, and of the rounds before that are not counted. */
const TURNS_PER_ROUND = 400
const WARM = 1500

/** What a turn of a stored conversation costs at its beginning and at its end: input, context, answer and storage, all in. */
export async function run(): Promise<Row[]> {
  const upstream = await startUpstream({ events: 1, gap_ms: 1 })
  const service = await startChatService(upstream)
  try {
    const chain = await converse(service)
    const first = turnAfter(service, chain[0]!)
    const last = turnAfter(service, chain.at(-1)!)
    await first(WARM)
    await last(WARM)
    const spent: { first: Spent[]; last: Spent[] } = { first: [], last: [] }
    for (let round = 0; round < ROUNDS; round++) {
      spent.first.push(await first(TURNS_PER_ROUND))
      spent.last.push(await last(TURNS_PER_ROUND))
    }
    return [rowOf(middle(spent.first), middle(spent.last))]
  } finally {
    await service.stop()
    await upstream.stop()
  }
}

/** A conversation of `TURNS` turns; the ids of its responses, oldest first. */
async function converse(service: BenchService): Promise<string[]> {
  const chain: string[] = []
  while (chain.length < TURNS) {
    const body = bodyAfter(chain.at(-1))
    const answer = await fetch(`${service.url}/v1/responses`, { method: 'POST', headers: caller(service), body })
    const { id } = (await answer.json()) as { id: string }
    if (answer.status !== 200) throw new Error(`turn ${chain.length} was answered ${answer.status}`)
    chain.push(id)
  }
  return chain
}

/** Asks for responses that all continue from one response, and returns what they cost together. */
function turnAfter(service: BenchService, previous_response_id: string): (turns: number) => Promise<Spent> {
  const load = { url: `${service.url}/v1/responses`, headers: caller(service), body: bodyAfter(previous_response_id) }
  return async (turns) => {
    const { spent } = await spentOn(service, () => chat({ ...load, callers: CALLERS, amount: { answers: turns } }))
    return spent
  }
}

function bodyAfter(previous_response_id: string | undefined): string {
  return JSON.stringify({ model: 'fast-1', input: 'And what comes after that?', previous_response_id })
}

function middle(rounds: readonly Spent[]): Spent {
  return { node: median(rounds.map(({ node }) => node)), postgres: median(rounds.map(({ postgres }) => postgres)) }
}

function rowOf(first: Spent, last: Spent): Row {
  const ratio = (last.node + last.postgres) / (first.node + first.postgres)
  return {
    name: `Turn ${TURNS + 1} of a stored conversation`,
    figure: perPiece(last, TURNS_PER_ROUND),
    yardstick: `turn 2: ${perPiece(first, TURNS_PER_ROUND)}`,
    ratio: ratio.toFixed(2),
    budget: '≤ 2 × the beginning',
    ok: ratio <= 2,
  }
}

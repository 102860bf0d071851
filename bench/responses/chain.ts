import { chat, startChatService, startUpstream } from '../chat/setup.ts'
import { alternate, amountOf } from '../support/rounds.ts'
import { type Row, rowOf } from '../support/row.ts'
import { type BenchService, caller } from '../support/service.ts'
import { type Spent, spentEach, spentOn, totalOf } from '../support/spent.ts'

const TURNS = 100
const CALLERS = 8
/** Of one round. */
const TURNS_PER_ROUND = amountOf(400)

/** What a turn of a stored conversation costs at its beginning and at its end: input, context, answer and storage, all in. */
export async function run(): Promise<Row[]> {
  const upstream = await startUpstream({ events: 1, gap_ms: 1 })
  const service = await startChatService(upstream)
  try {
    const chain = await converse(service)
    const first = turnAfter(service, chain[0]!)
    const last = turnAfter(service, chain.at(-1)!)
    return rowsOf(await alternate({ first, last }, { count: TURNS_PER_ROUND }))
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

/** Asks for responses that all continue from one response, and returns what each costs. */
function turnAfter(service: BenchService, previous_response_id: string): (turns: number) => Promise<Spent> {
  const load = { url: `${service.url}/v1/responses`, headers: caller(service), body: bodyAfter(previous_response_id) }
  return async (turns) => {
    const { spent } = await spentOn(service, () => chat({ ...load, callers: CALLERS, amount: { answers: turns } }))
    return spentEach(spent, turns)
  }
}

function bodyAfter(previous_response_id: string | undefined): string {
  return JSON.stringify({ model: 'fast-1', input: 'And what comes after that?', previous_response_id })
}

function rowsOf({ first, last }: { first: Spent[]; last: Spent[] }): Row[] {
  const name = `Turn ${TURNS + 1} of a stored conversation`
  const unit = 'µs CPU'
  return [
    rowOf({
      name: `${name}, Node and PostgreSQL`,
      unit,
      rounds: last.map(totalOf),
      yardsticks: [{ name: 'turn 2', rounds: first.map(totalOf), ratio_limit: 2 }],
    }),
    rowOf({
      name: `${name}, PostgreSQL`,
      unit,
      rounds: last.map(({ postgres }) => postgres),
      yardsticks: [{ name: 'turn 2', rounds: first.map(({ postgres }) => postgres) }],
    }),
  ]
}

import { findChargeOfJob, findHold } from '../../../billing/store.ts'
import type { Config } from '../../../config/config.ts'
import { findOrganizationNames } from '../../../identity/people/store.ts'
import { findNodes } from '../../../nodes/store.ts'
import { addSeconds } from '../../../platform/clock.ts'
import type { Db } from '../../../platform/db/db.ts'
import { formatMoney } from '../../../platform/money.ts'
import { listRecordsOfJob } from '../../../videos/moderation/records.ts'
import { stageLimitSeconds } from '../../../videos/pipeline/claims.ts'
import { findAttempts, findRunningJobOfAnyOrg, type Job } from '../../../videos/pipeline/store.ts'
import type { RenderAttempt } from '../../../videos/render/attempt.ts'
import { type EventDelivery, listDeliveriesOfSubject } from '../../../webhooks/store/deliveries.ts'
import { findUrls } from '../../../webhooks/store/endpoints.ts'
import { CommandError, command } from '../command.ts'
import { waitOf } from './job-wait.ts'
import { durationOf, labeled, tableLines, timeWithAge } from './text.ts'

export const jobShow = command({
  records: null,
  summary: 'show a video job without its prompt: stages, starts, what it waits for, money, webhooks',
  flags: { id: { value: '<video_...>', help: 'The job', required: true } },
  async run({ db, clock, config }, { id }) {
    const found = await db
      .transaction()
      .setIsolationLevel('repeatable read')
      .setAccessMode('read only')
      .execute((tx) => find(tx, id))
    if (!found) throw new CommandError(`There is no job ${id}. Jobs that were deleted are gone.`)
    const json = viewOf(found, { config, now: clock.now() })
    return { json, rows: linesOf(json, clock.now()).map((line) => [line]) }
  },
})

type Found = NonNullable<Awaited<ReturnType<typeof find>>>

/** Everything about the job, in one snapshot. Every query reads by a key, or within a second. */
async function find(db: Db, id: string) {
  const job = await findRunningJobOfAnyOrg(db, id)
  if (!job) return null
  const { org_id, finished_at } = job
  const ended = { org_id, subject_id: id, at: finished_at ?? job.created_at }
  const deliveries = finished_at === null ? [] : await listDeliveriesOfSubject(db, ended)
  const nodes = await findNodes(db)
  return {
    job,
    deliveries,
    organization: (await findOrganizationNames(db, [org_id])).get(org_id) ?? org_id,
    attempts: await findAttempts(db, [id]),
    moderation: await listRecordsOfJob(db, id),
    hold: await findHold(db, id),
    charge: await findChargeOfJob(db, id),
    urls: await findUrls(db, [...new Set(deliveries.map(({ endpoint_id }) => endpoint_id))]),
    workers: nodes.filter(({ alive, role }) => alive && role !== 'api').length,
  }
}

type View = ReturnType<typeof viewOf>

function viewOf(found: Found, { config, now }: { config: Config; now: Date }) {
  const { job, organization, attempts, moderation, hold, charge, deliveries, urls, workers } = found
  const { org_id: organization_id, cost, error_code: code, inputs } = job
  const { id, request_id, user_id, key_id, model, seconds, aspect_ratio, currency } = job
  const { status, progress, created_at, finished_at } = job
  return {
    object: 'video_job',
    id,
    organization_id,
    organization,
    user_id,
    key_id,
    request_id,
    model,
    seconds,
    aspect_ratio,
    cost: formatMoney(cost),
    currency,
    inputs: inputs.map(({ role, file_id }) => ({ role, file_id })),
    ...{
      status,
      progress,
      error: code === null ? null : { code, message: job.error_message },
      created_at,
      finished_at,
    },
    waits: waitOf(job, { now, workers }),
    fails_at: failsAt(job, config),
    next_step: nextStepOf(job),
    stages: stagesOf(job),
    moderation: moderation.map(({ stage, verdict, categories, engine, created_at }) => ({
      stage,
      verdict,
      categories,
      engine,
      created_at,
    })),
    attempts: attempts.map(attemptView),
    hold: hold && { ...hold, amount: formatMoney(hold.amount) },
    charge: charge && { ...charge, amount: formatMoney(-charge.amount) },
    deliveries: deliveries.map((each) => deliveryView(each, urls)),
  }
}

/** When a job that hangs `queued` or `in_progress` fails; null in other stages, which end by their tries. */
function failsAt(job: Job, config: Config): Date | null {
  const { status, queued_at, render_started_at } = job
  const since = status === 'queued' ? queued_at : status === 'in_progress' ? render_started_at : null
  return since && addSeconds(since, stageLimitSeconds(config, job))
}

function nextStepOf({ finished_at, next_run_at, cancel_due_at, tries, claimed_until }: Job) {
  const due_at = finished_at === null ? next_run_at : cancel_due_at
  return due_at && { due_at, tries, claimed_until }
}

/** The statuses that the job has had, until it ended. */
function stagesOf({ created_at, moderated_at, queued_at, render_started_at, finished_at }: Job) {
  const begun = [
    ['moderating', created_at],
    ['translating', moderated_at],
    ['queued', queued_at],
    ['in_progress', render_started_at],
  ] as const
  const had = begun.flatMap(([stage, since]) => (since === null ? [] : [{ stage, since }]))
  return had.map((each, i) => ({ ...each, until: had[i + 1]?.since ?? finished_at }))
}

function attemptView({ id, number, state, paid, engine, engine_address, ticket, ...attempt }: RenderAttempt) {
  const { ended_because: last_error, engine_status, created_at: started_at, answered_at } = attempt
  const { last_heard_at, missing_since, delivered_at, ended_at } = attempt
  return {
    id,
    number,
    state,
    paid,
    engine,
    engine_address,
    ticket,
    engine_status,
    last_error,
    started_at,
    answered_at,
    last_heard_at,
    missing_since,
    delivered_at,
    ended_at,
  }
}

function deliveryView(delivery: EventDelivery, urls: ReadonlyMap<string, string>) {
  const { event_id, type, endpoint_id, state, attempts, status_code, error, last_try_at } = delivery
  const next_try_at = state === 'pending' ? delivery.next_try_at : null
  const url = urls.get(endpoint_id) ?? null
  return { event_id, type, endpoint_id, url, state, attempts, status_code, error, last_try_at, next_try_at }
}

function linesOf(view: View, now: Date): string[] {
  const { waits, next_step, hold, charge, error } = view
  const time = (at: Date | null) => timeWithAge(at, now)
  return [
    ...labeled('job', `${view.id}: ${view.status}${view.status === 'in_progress' ? `, ${view.progress} %` : ''}`),
    ...labeled('organization', `${view.organization} (${view.organization_id})`),
    ...labeled('request', view.request_id),
    ...labeled('by', `${view.user_id}, ${view.key_id ?? 'in the console'}`),
    ...labeled('asked for', `${view.seconds} s, ${view.aspect_ratio}, ${view.model}${inputsText(view)}`),
    ...(error ? labeled('failed', `${error.code}: ${error.message}`) : []),
    ...(waits ? labeled('waits for', `${waits.for}, since ${time(waits.since)}`) : []),
    ...(waits ? labeled('', waits.detail) : []),
    ...(view.fails_at ? labeled('fails', `${time(view.fails_at)}, unless it ends before`) : []),
    ...(next_step ? labeled('next step', nextStepText(next_step, time)) : []),
    '',
    ...tableLines(view.stages, [
      { heading: 'stage', text: ({ stage }) => stage },
      { heading: 'since', text: ({ since }) => time(since) },
      { heading: 'until', text: ({ until }) => (until === null ? null : time(until)) },
      { heading: 'took', text: ({ since, until }) => durationOf(((until ?? now).getTime() - since.getTime()) / 1000) },
    ]),
    ...view.attempts.flatMap((attempt) => ['', ...attemptLines(attempt, time)]),
    '',
    ...view.moderation.flatMap(({ stage, verdict, categories, engine, created_at }) =>
      labeled('moderation', `${stage}: ${[verdict, ...categories].join(', ')}, by ${engine}, ${time(created_at)}`),
    ),
    ...labeled(
      'hold',
      hold ? `${hold.amount} ${view.currency}, ${hold.state} ${time(hold.settled_at ?? hold.placed_at)}` : 'none',
    ),
    ...labeled(
      'charge',
      charge ? `${charge.amount} ${view.currency}, ${charge.id}, ${time(charge.created_at)}` : 'none',
    ),
    ...view.deliveries.flatMap((each) => labeled('webhook', deliveryText(each, time))),
    ...(view.deliveries.length === 0 ? labeled('webhook', view.finished_at === null ? 'none yet' : 'none') : []),
  ]
}

function inputsText({ inputs }: View): string {
  return inputs.map(({ role, file_id }) => `, ${role} ${file_id}`).join('')
}

type TimeText = (at: Date | null) => string

function nextStepText({ due_at, tries, claimed_until }: NonNullable<View['next_step']>, time: TimeText): string {
  const claim = claimed_until === null ? 'no process has it' : `a process has it until ${time(claimed_until)}`
  return `due ${time(due_at)}; ${tries === 0 ? '' : `${tries} tries failed; `}${claim}`
}

function attemptLines(attempt: View['attempts'][number], time: TimeText): string[] {
  const { number, state, engine, engine_address, ticket, last_error, engine_status } = attempt
  const times = [
    ['asked', attempt.started_at],
    ['answered', attempt.answered_at],
    ['last heard', attempt.last_heard_at],
    ['missing', attempt.missing_since],
    ['delivered', attempt.delivered_at],
    ['ended', attempt.ended_at],
  ] as const
  return [
    ...labeled(`start ${number}`, `${state}, ${[engine, engine_address].filter((each) => each !== null).join(' at ')}`),
    ...(ticket === null ? [] : labeled('  ticket', JSON.stringify(ticket))),
    ...(last_error === null ? [] : labeled('  last error', last_error)),
    ...(engine_status === null ? [] : labeled('  status word', engine_status)),
    ...times.flatMap(([name, at]) => (at === null ? [] : labeled(`  ${name}`, time(at)))),
  ]
}

function deliveryText(delivery: View['deliveries'][number], time: TimeText): string {
  const { type, url, endpoint_id, state, attempts, status_code, error, last_try_at, next_try_at } = delivery
  return [
    `${type} to ${url ?? endpoint_id}: ${state} after ${attempts} ${attempts === 1 ? 'try' : 'tries'}`,
    ...(error === null ? [] : [`last error: ${[error, status_code ?? ''].join(' ').trim()}`]),
    ...(last_try_at === null ? [] : [time(last_try_at)]),
    ...(next_try_at === null ? [] : [`next ${time(next_try_at)}`]),
  ].join('; ')
}

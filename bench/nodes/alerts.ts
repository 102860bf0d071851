import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { freePort } from '../../test/support/listen.ts'
import { ROOT } from '../../test/support/sources.ts'
import type { Installation } from './installation.ts'

/** When an alert fired and ended, by `performance.now()`; null when it fires still. */
export type Fired = { alert: string; fired_at: number; ended_at: number | null }

/** Prometheus beside the installation, with the rules as shipped. */
export type Alerts = {
  /** Resolves once no alert fires or is about to, by the scrapes since now, or after `seconds_max`. */
  untilNone(seconds_max: number): Promise<void>
  /** Every alert that has fired, in order. */
  fired(): Promise<Fired[]>
  stop(): Promise<void>
}

/** Why alerts cannot be tried here; null when they can. */
export function withoutPrometheus(): string | null {
  return spawnSync('prometheus', ['--version']).error ? 'no prometheus here: install prometheus' : null
}

/** Of scrapes and evaluations, as docs/operating/metrics.md has them. */
const INTERVAL_SECONDS = 15
/** docs/operating/alerts.md: an alert fires within two minutes of a fault that lasts, of which the first scrape sees nothing, and ends within five of its end. */
const FIRES_SECONDS_MAX = 120 + INTERVAL_SECONDS
export const ENDS_SECONDS_MAX = 300
/** For how long a fault lasts that has to be noticed. */
export const NOTICED_SECONDS = 150

/** Starts a Prometheus that knows nothing of earlier faults. Resolves once it has read the metrics of every node. */
export async function startPrometheus({ dir: parent, nodes, defer }: Installation): Promise<Alerts> {
  const dir = join(parent, `prometheus-${performance.now()}`)
  mkdirSync(dir)
  const url = `http://127.0.0.1:${await freePort()}`
  const config = join(dir, 'prometheus.yml')
  const targets = Object.values(nodes).map(({ metrics_url }) => new URL(metrics_url).host)
  writeFileSync(config, configOf(targets))
  const args = [
    `--config.file=${config}`,
    `--storage.tsdb.path=${dir}/data`,
    `--web.listen-address=${new URL(url).host}`,
  ]
  const child = spawn('prometheus', [...args, '--log.level=error'], { stdio: ['ignore', 'ignore', 'inherit'] })
  const gone = once(child, 'exit')
  const stop = async () => {
    child.kill('SIGTERM')
    await gone
  }
  defer(stop)
  while ((await ask(url, 'up == 1').catch(() => [])).length < targets.length) {
    if (child.exitCode !== null) throw new Error(`prometheus ended with ${child.exitCode}`)
    await pause(500)
  }
  return {
    async untilNone(seconds_max) {
      const late = performance.now() + seconds_max * 1000
      // Until then nothing that was scraped earlier is the newest.
      await pause(2 * INTERVAL_SECONDS * 1000)
      while ((await ask(url, 'ALERTS')).length > 0 && performance.now() < late) await pause(1000)
    },
    fired: async () => firedOf(await ask(url, 'ALERTS{alertstate="firing"}[1h]'), await ask(url, 'ALERTS')),
    stop,
  }
}

/** What is wrong with the alerts of a fault that lasted from `broken_at` to `repaired_at`, in words. `perhaps`: may fire too. */
export function findWrong(
  fired: readonly Fired[],
  fault: { expected: readonly string[]; perhaps: readonly string[]; broken_at: number; repaired_at: number },
): string[] {
  const { expected, perhaps, broken_at, repaired_at } = fault
  const wrong: string[] = []
  for (const { alert, fired_at, ended_at } of fired) {
    if (![...expected, ...perhaps].includes(alert)) wrong.push(`${alert} fired`)
    else if (fired_at - broken_at > FIRES_SECONDS_MAX * 1000) wrong.push(`${alert} fired late`)
    if (ended_at === null || ended_at - repaired_at > ENDS_SECONDS_MAX * 1000)
      wrong.push(`${alert} did not end in time`)
  }
  const silent = expected.filter((name) => !fired.some(({ alert }) => alert === name))
  return [...wrong, ...silent.map((alert) => `${alert} did not fire`)]
}

type Series = { metric: Record<string, string>; values?: Array<[at: number, value: string]> }

async function ask(url: string, query: string): Promise<Series[]> {
  const response = await fetch(`${url}/api/v1/query?query=${encodeURIComponent(query)}`)
  const { data, error } = (await response.json()) as { data?: { result: Series[] }; error?: string }
  if (!data) throw new Error(`prometheus: ${error}`)
  return data.result
}

/** `samples` has one for each evaluation at which an alert fired; the next one after the last ended it. */
function firedOf(samples: readonly Series[], now: readonly Series[]): Fired[] {
  const names = [...new Set(samples.map(({ metric }) => metric.alertname!))]
  const fired = names.map((alert) => {
    const times = samples
      .filter(({ metric }) => metric.alertname === alert)
      .flatMap(({ values }) => values!.map(([at]) => at))
    const fires = now.some(({ metric }) => metric.alertname === alert && metric.alertstate === 'firing')
    const ended_at = fires ? null : monotonicOf(Math.max(...times) + INTERVAL_SECONDS)
    return { alert, fired_at: monotonicOf(Math.min(...times)), ended_at }
  })
  return fired.sort((a, b) => a.fired_at - b.fired_at)
}

/** A Unix time in seconds as `performance.now()` gives it. */
function monotonicOf(seconds: number): number {
  return seconds * 1000 - performance.timeOrigin
}

function configOf(targets: readonly string[]): string {
  return `global: { scrape_interval: ${INTERVAL_SECONDS}s, evaluation_interval: ${INTERVAL_SECONDS}s }
rule_files: [${JSON.stringify(join(ROOT, 'deploy', 'prometheus', 'kinora-rules.yaml'))}]
scrape_configs:
  - job_name: kinora
    static_configs: [{ targets: ${JSON.stringify(targets)} }]
`
}

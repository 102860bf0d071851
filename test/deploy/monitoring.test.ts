import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { openAppMetrics } from '../../server/assembly/metrics.ts'
import { processReader } from '../../server/platform/metrics/exposition.ts'
import { ROOT } from '../support/sources.ts'

type Rule = {
  alert: string
  expr: string
  for: string
  labels: Record<string, string>
  annotations: Record<string, string>
}
type Panel = { title: string; targets: Array<{ expr: string }> }

const { groups } = parse(read('deploy/prometheus/kinora-rules.yaml')) as { groups: Array<{ rules: Rule[] }> }
const rules = groups.flatMap((group) => group.rules)
const dashboard = JSON.parse(read('deploy/grafana/kinora.json')) as { panels: Panel[] }
const reported = await processReader(openAppMetrics())()

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}

/** Every series of an expression that the service does not report, and every label by which it is asked that the metric has not. */
function unknownIn(expr: string): string[] {
  const known = new Map<string, string>()
  for (const { name, type } of reported) {
    const suffixes = type === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']
    for (const suffix of suffixes) known.set(name + suffix, name)
  }
  known.set('up', 'up')
  const names = [...expr.matchAll(/\b(?:kinora|nodejs|process)_\w+|\bup\b/g)].map(([name]) => name)
  return names.filter((name) => !known.has(name))
}

test('every query of the dashboard and of the alerts asks for metrics that the service reports', () => {
  const queries = [...dashboard.panels.flatMap(({ targets }) => targets), ...rules].map(({ expr }) => expr)
  assert.ok(queries.length > 30)
  assert.deepEqual(queries.flatMap(unknownIn), [])
  assert.deepEqual(unknownIn('rate(kinora_no_such_total[5m])'), ['kinora_no_such_total'])
})

test('no alert waits, or looks back, for longer than it may take to fire and to end, and each is tried on outages', () => {
  const tried = read('deploy/prometheus/kinora-rules-test.yaml')
  for (const { alert, for: duration, expr } of rules) {
    assert.ok(Number.parseInt(duration, 10) <= 90, alert)
    for (const [, count, unit] of expr.matchAll(/\[(\d+)(\w)\]/g))
      assert.ok(Number(count) * (unit === 's' ? 1 : 60) <= 300 && unit !== 'h', `${alert} ${count}${unit}`)
    assert.ok(tried.includes(`alertname: ${alert},`), alert)
  }
})

const promtool = spawnSync('promtool', ['--version']).error === undefined

test('alerts fire within two minutes of a fault that lasts, end within five of its end, and are silent otherwise', {
  skip: promtool ? false : 'promtool is not installed',
}, () => {
  const { status, stderr } = spawnSync('promtool', [
    'test',
    'rules',
    join(ROOT, 'deploy/prometheus/kinora-rules-test.yaml'),
  ])
  assert.equal(status, 0, String(stderr))
})

test('every metric of Kinora is on the dashboard', () => {
  const shown = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)).join('\n')
  const missing = reported.filter(({ name }) => name.startsWith('kinora_') && !shown.includes(name))
  assert.deepEqual(
    missing.map(({ name }) => name),
    [],
  )
})

test('every alert has a duration, a severity, a summary and its section in docs/operating/alerts.md, and no section is left over', () => {
  const guide = read('docs/operating/alerts.md')
  for (const { alert, for: duration, labels, annotations } of rules) {
    assert.match(duration, /^(0m|\d\ds)$/, alert)
    assert.match(labels.severity ?? '', /^(critical|warning)$/, alert)
    assert.ok((annotations.summary ?? '').length > 20, alert)
    assert.equal(annotations.runbook, `docs/operating/alerts.md#${alert.toLowerCase()}`)
  }
  const sections = [...guide.matchAll(/^### (Kinora\w+)$/gm)].map(([, name]) => name)
  assert.deepEqual(sections.sort(), rules.map(({ alert }) => alert).sort())
})

test('the example of Alertmanager notifies somebody of every alert, by receivers that it has', () => {
  type Route = { receiver: string; matchers?: string[]; routes?: Route[] }
  type Receiver = { name: string } & Record<string, object[] | string>
  const config = parse(read('deploy/prometheus/alertmanager.yaml')) as { route: Route; receivers: Receiver[] }
  const { route, receivers } = config
  const routes = [route, ...(route.routes ?? [])]
  assert.deepEqual(routes.map(({ receiver }) => receiver).sort(), receivers.map(({ name }) => name).sort())
  for (const { name, ...ways } of receivers) assert.ok(Object.values(ways).flat().length > 0, name)
  const severities = rules.map(({ labels }) => `severity="${labels.severity}"`)
  assert.equal(route.matchers, undefined, 'the first route takes what no other does')
  for (const { matchers } of route.routes ?? [])
    for (const matcher of matchers!) assert.ok(severities.includes(matcher))
})

test('Prometheus as docs/operating/metrics.md has it reads the rules and reports to an Alertmanager', () => {
  const [, text] = /```yaml\n# \/etc\/prometheus\/prometheus\.yml\n([\s\S]*?)```/.exec(
    read('docs/operating/metrics.md'),
  )!
  const config = parse(text!) as Record<string, unknown> & { scrape_configs: Array<{ job_name: string }> }
  assert.deepEqual(
    config.scrape_configs.map(({ job_name }) => job_name),
    ['kinora'],
  )
  assert.deepEqual(config.rule_files, ['kinora-rules.yaml'])
  assert.deepEqual(config.alerting, { alertmanagers: [{ static_configs: [{ targets: ['127.0.0.1:9093'] }] }] })
})

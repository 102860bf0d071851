import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse, parseAllDocuments } from 'yaml'
import { filesMatching, ROOT, sourcesIn } from '../support/sources.ts'

// biome-ignore lint/suspicious/noExplicitAny: objects of many kinds, whose shape the Kubernetes API checks.
type KubernetesObject = Record<string, any>

/** In the order in which `kubectl apply --filename deploy/kubernetes/` applies them, which reads no folders. */
const applied = filesMatching(['deploy/kubernetes/*.yaml'])
const examples = filesMatching(['deploy/kubernetes/example/*.yaml'])
const objects = [...applied, ...examples].flatMap(({ text }) =>
  parseAllDocuments(text).map((document) => document.toJS() as KubernetesObject),
)
const named = (kind: string, name: string) =>
  objects.find((object) => object.kind === kind && object.metadata.name === name)
const deployments = objects.filter(({ kind }) => kind === 'Deployment')
const configuration = parse(named('ConfigMap', 'kinora')!.data['kinora.yaml'])
/** Seconds that a node may take to stop beyond `drain_seconds`: for requests, then for what its workers do. */
const STOP_SECONDS = 30 + 40

test('every object but the namespace is in the namespace', () => {
  assert.ok(objects.length >= 10)
  assert.deepEqual(
    objects.filter(({ kind, metadata }) => kind !== 'Namespace' && metadata.namespace !== 'kinora'),
    [],
  )
})

test('the namespace is applied before what is in it, and no placeholder over a Secret that was made', () => {
  const kinds = applied.flatMap(({ text }) => parseAllDocuments(text).map((document) => document.toJS().kind))
  assert.equal(kinds[0], 'Namespace')
  assert.ok(!kinds.includes('Secret'))
  assert.deepEqual(
    applied.filter(({ text }) => text.includes('CHANGE-ME')).map(({ path }) => path),
    [],
  )
  const made = [...read('docs/operating/containers.md').matchAll(/--from-(?:literal|file)=(\w+)=/g)].map(
    ([, key]) => key,
  )
  assert.deepEqual(made.sort(), Object.keys(named('Secret', 'kinora')!.stringData).sort())
})

test('there are pods of both roles, two of each, which run as nobody in particular and write to volumes alone', () => {
  const roles = deployments.map(({ spec }) => {
    const { containers, securityContext } = spec.template.spec
    const [{ env, securityContext: own }] = containers
    assert.equal(spec.replicas, 2)
    assert.deepEqual([securityContext.runAsNonRoot, securityContext.runAsUser], [true, 1000])
    assert.deepEqual([own.readOnlyRootFilesystem, own.allowPrivilegeEscalation], [true, false])
    return env.find(({ name }: { name: string }) => name === 'KINORA_ROLE').value
  })
  assert.deepEqual(roles.sort(), ['api', 'worker'])
})

test('probes ask what the service answers, at its port, and a stopping pod has time to drain', () => {
  const routes = new Set(sourcesIn('server').flatMap(({ text }) => text.match(/(?<=path: ')\/(healthz|readyz)/g) ?? []))
  for (const { spec } of deployments) {
    const [{ ports, startupProbe, livenessProbe, readinessProbe }] = spec.template.spec.containers
    assert.ok(spec.template.spec.terminationGracePeriodSeconds >= configuration.drain_seconds + STOP_SECONDS)
    // A pod must be unready for longer than it takes to be noticed.
    assert.ok(readinessProbe.periodSeconds * readinessProbe.failureThreshold < configuration.drain_seconds)
    assert.equal(readinessProbe.httpGet.path, '/readyz')
    for (const { httpGet } of [startupProbe, livenessProbe, readinessProbe]) {
      assert.ok(routes.has(httpGet.path), httpGet.path)
      assert.equal(httpGet.port, 'http')
    }
    const { http, metrics } = Object.fromEntries(
      ports.map(({ name, containerPort }: { name: string; containerPort: number }) => [name, containerPort]),
    )
    assert.equal(`EXPOSE ${http}`, /^EXPOSE \d+$/m.exec(read('Dockerfile'))![0])
    assert.equal(metrics, configuration.metrics.port)
  }
})

test('what an object refers to is there', () => {
  const secret = named('Secret', 'kinora')!.stringData
  for (const { spec, metadata } of deployments) {
    const { labels } = spec.template.metadata
    assert.deepEqual(spec.selector.matchLabels, labels)
    assert.deepEqual(named('PodDisruptionBudget', metadata.name)!.spec.selector.matchLabels, labels)
    const { volumes, containers } = spec.template.spec
    const mounts = containers[0].volumeMounts.map(({ name }: { name: string }) => name)
    assert.deepEqual(mounts.sort(), volumes.map(({ name }: { name: string }) => name).sort())
    for (const { name, value, valueFrom } of containers[0].env) {
      const key = valueFrom ? valueFrom.secretKeyRef.key : /^\/run\/secrets\/kinora\/(\w+)$/.exec(value)?.[1]
      assert.ok(key === undefined || key in secret, name)
    }
  }
  const service = named('Service', 'kinora')!
  const api = deployments.find(({ metadata }) => metadata.name === 'kinora-api')!
  assert.deepEqual(service.spec.selector, api.spec.template.metadata.labels)
  assert.equal(named('Ingress', 'kinora')!.spec.rules[0].http.paths[0].backend.service.name, 'kinora')
})

test('variables of the pods are documented', () => {
  const page = read('docs/configuration.md')
  const names = deployments.flatMap(({ spec }) =>
    spec.template.spec.containers[0].env.map(({ name }: { name: string }) => name),
  )
  assert.deepEqual(
    names.filter((name: string) => name !== 'AWS_SHARED_CREDENTIALS_FILE' && !page.includes(`\`${name}\``)),
    [],
  )
})

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}

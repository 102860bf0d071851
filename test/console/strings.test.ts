import assert from 'node:assert/strict'
import { test } from 'node:test'
import en from '../../console/text/en.ts'
import ja from '../../console/text/ja.ts'
import { textUses, usesIn } from './console-texts.ts'

const english = flatten(en)
const japanese = flatten(ja)
const uses = textUses()

test('both languages have exactly the same texts', () => {
  assert.deepEqual(without(english, japanese), [], 'only in English')
  assert.deepEqual(without(japanese, english), [], 'only in Japanese')
})

test('a text takes the same values in both languages', () => {
  const valuesOf = (text = '') => [...new Set(text.match(/\{\{\w+[^}]*\}\}/g))].sort()
  const wrong = [...english].filter(([key, text]) => {
    const [here, there] = [valuesOf(text), valuesOf(japanese.get(key))]
    // The singular may leave its number out.
    return here.join() !== there.join() && !/_one$/.test(key)
  })
  assert.deepEqual(
    wrong.map(([key]) => key),
    [],
  )
})

test('no text is empty, and none ends or begins with a space', () => {
  const wrong = [...english, ...japanese].filter(([, text]) => text === '' || text.trim() !== text)
  assert.deepEqual(wrong, [])
})

test('no component contains texts of its own', () => {
  assert.deepEqual(uses.written, [])
})

test('every text that is looked up exists', () => {
  const missing = uses.asked.filter(({ place, namespace, pattern }) => place !== '' && !isMet(namespace, pattern))
  assert.deepEqual(
    missing.map(({ place, namespace, pattern }) => `${place}: ${namespace ?? '?'}: ${pattern.source}`),
    [],
  )
})

test('a page uses only texts of its own, or of a part of it, and the shared ones: others may not be loaded', () => {
  const wrong = uses.asked.filter(({ place, namespace }) => {
    const [, folder] = place.split('/').slice(0, -1)
    const own = folder === 'ui' || folder === 'api' ? [] : [folder]
    const [noun] = namespace?.split('/') ?? []
    return noun !== undefined && folder !== undefined && ![...own, 'errors', 'kit', 'shell'].includes(noun)
  })
  assert.deepEqual(
    wrong.map(({ place, namespace }) => `${place}: ${namespace}`),
    [],
  )
})

test('every text is used', () => {
  const idle = [...english.keys()].filter((key) => {
    const [namespace, name] = split(key)
    return !uses.asked.some((use) => (use.namespace ?? namespace) === namespace && use.pattern.test(name))
  })
  assert.deepEqual(idle, [])
})

test('the checks find what they look for', () => {
  const text = `
    export function A({ t: other }) {
      const t = useText('shell')
      const u = useText('kit')
      return <p title="Some words">Words {'more words'} {' · '} <b aria-label={t('brand')}>{u(\`theme_\${x}\`)}</b></p>
    }
    function b() {
      const t = useText('login')
      return t(here ? 'one' : 'two', { count: 1 })
    }`
  const { written, asked } = usesIn([{ path: 'console/x.tsx', text }])
  assert.deepEqual(written.sort(), [
    'console/x.tsx:5: Some words',
    'console/x.tsx:5: Words',
    'console/x.tsx:5: more words',
  ])
  const seen = (namespace: string, name: string) =>
    asked.some((use) => use.namespace === namespace && use.pattern.test(name))
  assert.ok(seen('shell', 'brand') && seen('kit', 'theme_dark') && seen('login', 'one') && seen('login', 'two_other'))
  assert.ok(!seen('kit', 'brand') && !seen('shell', 'one') && !seen('login', 'three'))
})

function isMet(namespace: string | null, pattern: RegExp): boolean {
  return [...english.keys()].some((key) => {
    const [own, name] = split(key)
    return (namespace ?? own) === own && pattern.test(name)
  })
}

/** `namespace:outer.inner` with the text of each. */
function flatten(texts: object): Map<string, string> {
  const found = new Map<string, string>()
  const visit = (value: object, path: string) => {
    for (const [name, inner] of Object.entries(value)) {
      const own = path === '' ? name : path.includes(':') ? `${path}.${name}` : `${path}:${name}`
      if (typeof inner === 'string') found.set(own, inner)
      else visit(inner as object, own)
    }
  }
  visit(texts, '')
  return found
}

function without(these: ReadonlyMap<string, string>, those: ReadonlyMap<string, string>): string[] {
  return [...these.keys()].filter((key) => !those.has(key))
}

function split(key: string): [string, string] {
  const at = key.indexOf(':')
  return [key.slice(0, at), key.slice(at + 1)]
}

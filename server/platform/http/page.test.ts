import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { FastifyRequest } from 'fastify'
import { pageLanguage } from './page.ts'

function languageOf(header: string | undefined, query: object = {}): string {
  return pageLanguage({ query, headers: { 'accept-language': header } } as unknown as FastifyRequest)
}

test('a page is in the language that the browser prefers, and in English where it prefers neither', () => {
  assert.equal(languageOf('ja-JP,ja;q=0.9,en;q=0.8'), 'ja')
  assert.equal(languageOf('en;q=0.5 , JA ; q=0.7'), 'ja')
  assert.equal(languageOf('en;q=0.9,ja;q=0.9'), 'en')
  assert.equal(languageOf('de, ja;q=0'), 'en')
  assert.equal(languageOf('jam, english'), 'en')
  assert.equal(languageOf(undefined), 'en')
  assert.equal(languageOf('en', { lang: 'ja' }), 'ja')
  assert.equal(languageOf('ja', { lang: ['en', 'en'] }), 'ja')
})

test('a header as long as the server accepts is read in linear time', () => {
  const gap = ' '.repeat(16_000)
  for (const header of [`en${gap}x`, `en;${gap}x`, `en${gap};q=1`, ','.repeat(16_000)]) {
    const before = process.cpuUsage()
    for (let i = 0; i < 50; i++) languageOf(header)
    // Read from each of its characters, fifty of them take some eight seconds; read once, some milliseconds each.
    assert.ok(process.cpuUsage(before).user < 2_000_000)
  }
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { errorObjectError } from './error.ts'

test('an error that names too much of the request is a refusal of it, and one of too many requests is not', () => {
  const kindOf = (error: object) => errorObjectError(error, { begun: false }).kind
  assert.equal(kindOf({ code: 'too_many_images', type: 'invalid_request_error' }), 'rejected')
  assert.equal(kindOf({ code: 'too_many_requests' }), 'overloaded')
})

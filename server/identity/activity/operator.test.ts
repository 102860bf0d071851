import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loginName } from './operator.ts'

const passwd = 'root:x:0:0:root:/root:/bin/bash\naki:x:1000:1000::/home/aki:/bin/bash\n'

test('a command run as the user of the service is recorded with the name of the person who logged in', () => {
  const nobody = { sudo_user: undefined, login_uid: '4294967295', passwd }
  assert.equal(loginName({ ...nobody, sudo_user: 'aki' }), 'aki')
  assert.equal(loginName({ ...nobody, login_uid: '1000' }), 'aki')
  assert.equal(loginName({ ...nobody, login_uid: '1001\n' }), 'uid 1001')
})

test('where nobody logged in, as for a service or where the kernel does not say, there is no such name', () => {
  assert.equal(loginName({ sudo_user: undefined, login_uid: '4294967295\n', passwd }), null)
  assert.equal(loginName({ sudo_user: undefined, login_uid: '', passwd }), null)
})

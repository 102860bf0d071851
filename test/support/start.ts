import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { join } from 'node:path'
import { preferBundledPackages } from '../../server/platform/start/bundled-packages.ts'
import { ROOT } from './sources.ts'

// Loaded before each test file, which then reads packages as the service does, in two thirds of the time.
const node_modules = join(ROOT, 'node_modules')
preferBundledPackages({ dir: join(node_modules, '.cache', 'kinora', 'packages'), node_modules })

// A password costs a tenth of a second of processor time on purpose, and the tests check a thousand. In their own processes it costs nothing;
// services and commands in processes of their own hash as operators' do.
const { scrypt } = crypto
crypto.scrypt = ((...args: Parameters<typeof scrypt>) => {
  const [password, salt, length, options, callback] = args
  const isPassword = typeof options === 'object' && options.N === 16_384
  if (isPassword) scrypt(password, salt, length, { ...options, N: 2 }, callback)
  else scrypt(...args)
}) as typeof scrypt
syncBuiltinESMExports()

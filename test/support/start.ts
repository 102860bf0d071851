import { join } from 'node:path'
import { preferBundledPackages } from '../../server/platform/start/bundled-packages.ts'
import { ROOT } from './sources.ts'

// Loaded before each test file, which then reads packages as the service does, in two thirds of the time.
const node_modules = join(ROOT, 'node_modules')
preferBundledPackages({ dir: join(node_modules, '.cache', 'kinora', 'packages'), node_modules })

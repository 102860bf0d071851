import errors from './errors.ts'
import kit from './kit.ts'
import shell from './shell.ts'

/** What any page may use. */
export default { errors, kit, shell }

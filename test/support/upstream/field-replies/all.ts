import { CALLS } from './calls.ts'
import { CHOICES } from './choices.ts'
import { ENDS, FINISH_REASONS } from './ends.ts'
import { INSTEAD } from './instead.ts'
import { OBJECTS } from './objects.ts'
import { REPEATS } from './repeats.ts'
import { SHAPES } from './shapes.ts'
import { USAGES } from './usages.ts'

export const FIELD_REPLIES = {
  ...FINISH_REASONS,
  ...ENDS,
  ...INSTEAD,
  ...USAGES,
  ...SHAPES,
  ...OBJECTS,
  ...CALLS,
  ...REPEATS,
  ...CHOICES,
}

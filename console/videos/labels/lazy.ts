import { lazy } from 'react'
import { withTexts } from '../../text/languages.ts'

/** Loaded once there are labels to show, so that a first visit without videos does not wait for them. */
export const Star = lazy(() =>
  withTexts('videos/clips', import('./star.tsx')).then((module) => ({ default: module.Star })),
)

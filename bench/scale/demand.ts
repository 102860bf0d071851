/** What customers do in a day, and how it is spread over it. Assumptions: nobody has measured this day. */
export type Demand = {
  chats: number
  /** Share of the chats that are streamed, and events in each. */
  streamed: number
  events: number
  jobs: number
  /** Of a job while it renders. */
  polls: number
  clip_mb: number
  /** How often a clip is read, as a whole. */
  reads: number
  /** The busiest minute is this many times the mean. */
  peak: number
}

export const THE_DAY: Demand = {
  chats: 1_000_000_000,
  streamed: 0.7,
  events: 200,
  jobs: 10_000_000,
  polls: 20,
  clip_mb: 6,
  reads: 1.5,
  peak: 2,
}

/** The day at other sizes. */
export function scaled(demand: Demand, by: number): Demand {
  return { ...demand, chats: demand.chats * by, jobs: demand.jobs * by }
}

export const SECONDS_OF_DAY = 86_400

/** What a second of the day has of the mean: a wave with one high, whose mean is 1. */
export function waveAt(second: number, peak: number): number {
  return 1 + (peak - 1) * Math.sin((2 * Math.PI * second) / SECONDS_OF_DAY)
}

import { type RefObject, useEffect, useRef, useSyncExternalStore } from 'react'

/** How clips are played, from one to the next for as long as the tab is open. */
export type Viewing = { loop: boolean; speed: number }

export const SPEEDS: readonly number[] = [0.25, 0.5, 0.75, 1, 1.25, 1.5, 2]
/** Frames per second of a clip that has not been played yet. */
const FRAME_RATE = 24

let viewing: Viewing = { loop: false, speed: 1 }
const listeners = new Set<() => void>()

export function useViewing(): Viewing {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => viewing,
  )
}

export function changeViewing(change: Partial<Viewing>): void {
  viewing = { ...viewing, ...change }
  for (const listener of listeners) listener()
}

export function toggleLoop(): void {
  changeViewing({ loop: !viewing.loop })
}

/** To the next slower or faster speed, where there is one. */
export function changeSpeed(steps: 1 | -1): void {
  const at = SPEEDS.indexOf(viewing.speed)
  changeViewing({ speed: SPEEDS[at + steps] ?? viewing.speed })
}

/** Plays the clips at the speed that is chosen. */
export function useSpeed(players: ReadonlyArray<RefObject<HTMLVideoElement | null>>): void {
  const { speed } = useViewing()
  useEffect(() => {
    for (const { current } of players)
      if (current) Object.assign(current, { defaultPlaybackRate: speed, playbackRate: speed })
  })
}

/** The frames per second of a clip: the shortest time between two frames that were shown, or the usual rate before it was played. */
export function useFrameRate(player: RefObject<HTMLVideoElement | null>): RefObject<number> {
  const rate = useRef(FRAME_RATE)
  useEffect(() => {
    const video = player.current
    if (!video || !('requestVideoFrameCallback' in video)) return
    let [last, shortest] = [Number.NaN, Number.POSITIVE_INFINITY]
    const look = (_now: number, { mediaTime }: VideoFrameCallbackMetadata) => {
      const span = mediaTime - last
      last = mediaTime
      if (span > 1 / 130 && span < shortest) {
        shortest = span
        if (!video.paused) rate.current = 1 / span
      }
      asked = video.requestVideoFrameCallback(look)
    }
    let asked = video.requestVideoFrameCallback(look)
    return () => video.cancelVideoFrameCallback(asked)
  }, [player])
  return rate
}

/** The middle of the frame that is `frames` after the one at `time`, so that rounding shows no other one. */
export function timeOfFrame(time: number, frames: number, rate: number): number {
  return Math.max(0, Math.floor(time * rate + 0.001) + frames + 0.5) / rate
}

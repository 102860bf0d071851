import { type RefObject, useEffect, useState } from 'react'
import { timeOfFrame, useFrameRate, useSpeed, useViewing } from './viewing.ts'

/** How far a clip may be from the playhead before it is moved there. Less would be heard as stutter. */
const DRIFT_SECONDS = 0.1

type Player = RefObject<HTMLVideoElement | null>

/** One playhead for two clips: the longer one leads, and the other waits at its last frame. */
export function usePlayhead(first: Player, second: Player) {
  const [time, setTime] = useState(0)
  const [playing, setPlaying] = useState(false)
  const [length, setLength] = useState(0)
  const { loop } = useViewing()
  useSpeed([first, second])
  const rates = [useFrameRate(first), useFrameRate(second)]
  const both = () => [first.current!, second.current!] as const
  const lead = () => both().toSorted((a, b) => lengthOf(b) - lengthOf(a))[0]!

  const seek = (to: number) => {
    const at = Math.min(Math.max(0, to), length)
    for (const video of both()) video.currentTime = Math.min(at, lengthOf(video))
    setTime(at)
  }
  const play = () => {
    if (time >= length) seek(0)
    setPlaying(true)
  }
  const pause = () => setPlaying(false)
  const step = (frames: 1 | -1) => {
    pause()
    seek(timeOfFrame(time, frames, Math.max(...rates.map(({ current }) => current))))
  }

  const onLoaded = () => setLength(Math.max(...both().map(lengthOf)))
  // Elements load before they are shown, and their events are lost until then.
  // biome-ignore lint/correctness/useExhaustiveDependencies: once.
  useEffect(onLoaded, [])

  // biome-ignore lint/correctness/useExhaustiveDependencies: the functions read what is current.
  useEffect(() => {
    if (!playing) return
    let frame = 0
    const follow = () => {
      const leading = lead()
      if (leading.ended && !loop) {
        setTime(length)
        return setPlaying(false)
      }
      if (leading.ended) for (const video of both()) video.currentTime = 0
      for (const video of both()) keepUp(video, leading)
      setTime(leading.currentTime)
      frame = requestAnimationFrame(follow)
    }
    follow()
    return () => {
      cancelAnimationFrame(frame)
      for (const video of both()) video?.pause()
    }
  }, [playing, loop, length])

  return {
    time,
    playing,
    length,
    seek,
    step,
    toggle: () => (playing ? pause() : play()),
    /** For `onLoadedMetadata` of both. */
    onLoaded,
  }
}

/** Plays a clip beside the one that leads, unless it has ended before. */
function keepUp(video: HTMLVideoElement, leading: HTMLVideoElement): void {
  const at = leading.currentTime
  if (video !== leading && at >= lengthOf(video)) return
  if (Math.abs(video.currentTime - at) > DRIFT_SECONDS) video.currentTime = at
  // A play that is replaced by a pause rejects.
  if (video.paused) video.play().catch(() => {})
}

function lengthOf({ duration }: HTMLVideoElement): number {
  return Number.isFinite(duration) ? duration : 0
}

import { useEffect, useSyncExternalStore } from 'react'
import { contentPath } from '../jobs/job.ts'

/** Most posters in memory; the least recently used are dropped. */
const POSTERS_MAX = 240
/** Videos read at the same time. */
const CONCURRENT_MAX = 2
/** Wide enough for the widest card on a dense screen. */
const WIDTH_MAX = 720

const posters = new Map<string, string | null>()
const waiting: string[] = []
const wanted = new Map<string, number>()
const listeners = new Set<() => void>()
let reading = 0

/** The first frame of a completed video as a URL; null until it is read, or when this browser cannot read it. */
export function usePoster(id: string | null): string | null {
  useEffect(() => {
    if (id === null) return
    want(id)
    return () => unwant(id)
  }, [id])
  return useSyncExternalStore(listen, () => (id === null ? null : (posters.get(id) ?? null)))
}

function want(id: string): void {
  wanted.set(id, (wanted.get(id) ?? 0) + 1)
  const known = posters.get(id)
  if (known !== undefined) {
    // Used again: moved to the end, so that it is dropped last.
    posters.delete(id)
    posters.set(id, known)
    return
  }
  if (!waiting.includes(id)) waiting.push(id)
  readNext()
}

/** A video that was scrolled past before its turn is not read. */
function unwant(id: string): void {
  const left = (wanted.get(id) ?? 1) - 1
  if (left > 0) wanted.set(id, left)
  else wanted.delete(id)
}

function readNext(): void {
  while (reading < CONCURRENT_MAX && waiting.length > 0) {
    const id = waiting.shift()!
    if (!wanted.has(id) || posters.has(id)) continue
    reading += 1
    void firstFrame(id).then((url) => {
      reading -= 1
      addPoster(id, url)
      readNext()
    })
  }
}

function addPoster(id: string, url: string | null): void {
  posters.set(id, url)
  for (const [oldest, poster] of posters) {
    if (posters.size <= POSTERS_MAX) break
    if (wanted.has(oldest)) continue
    posters.delete(oldest)
    if (poster) URL.revokeObjectURL(poster)
  }
  for (const listener of listeners) listener()
}

async function firstFrame(id: string): Promise<string | null> {
  const video = document.createElement('video')
  try {
    video.muted = true
    video.preload = 'auto'
    await new Promise((resolve, reject) => {
      video.onloadeddata = resolve
      video.onerror = reject
      video.src = contentPath(id)
    })
    const scale = Math.min(1, WIDTH_MAX / video.videoWidth)
    const canvas = document.createElement('canvas')
    canvas.width = Math.round(video.videoWidth * scale)
    canvas.height = Math.round(video.videoHeight * scale)
    canvas.getContext('2d')!.drawImage(video, 0, 0, canvas.width, canvas.height)
    const image = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve, 'image/jpeg', 0.86))
    return image && URL.createObjectURL(image)
  } catch {
    return null
  } finally {
    // Ends the download.
    video.removeAttribute('src')
    video.load()
  }
}

function listen(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

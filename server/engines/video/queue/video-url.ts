import { isRecord } from '../../../platform/json/record.ts'

/**
 * The URL of the finished clip in a result of any shape: a URL, a list of them, or an object that holds one. The first that is called a
 * video by its ending, its media type or the names of the members around it, else the first that is not called a picture or a sound.
 */
export function findVideoUrl(result: unknown): string | null {
  const found = urlsIn(result, '', '')
  const video = found.find(
    ({ url, names, media_type }) => VIDEO.test(media_type) || VIDEO_FILE.test(url) || VIDEO.test(names),
  )
  return (
    (
      video ??
      found.find(({ url, names, media_type }) => !OTHER.test(media_type) && !OTHER_FILE.test(url) && !OTHER.test(names))
    )?.url ?? null
  )
}

type Found = { url: string; names: string; media_type: string }

const VIDEO = /video/i
const OTHER = /image|thumbnail|poster|preview|audio/i
const VIDEO_FILE = /\.(mp4|mov|webm|mkv|m4v)(\?|#|$)/i
const OTHER_FILE = /\.(png|jpe?g|webp|gif|mp3|wav|json|txt)(\?|#|$)/i
const DEPTH_MAX = 8

function urlsIn(value: unknown, names: string, media_type: string, depth = 0): Found[] {
  if (typeof value === 'string') return /^https?:\/\//i.test(value) ? [{ url: value, names, media_type }] : []
  if (depth >= DEPTH_MAX) return []
  if (Array.isArray(value)) return value.flatMap((each) => urlsIn(each, names, media_type, depth + 1))
  if (!isRecord(value)) return []
  const type = typeof value.content_type === 'string' ? value.content_type : ''
  return Object.entries(value).flatMap(([name, each]) => urlsIn(each, `${names}.${name}`, type, depth + 1))
}

import { parseExact } from '../../../platform/json/parse-exact.ts'
import { isRecord } from '../../../platform/json/record.ts'
import { plainWord } from '../../error-words.ts'

/**
 * The URL of the finished clip in a result of any shape: a URL, a list of them, or an object that holds one. The first that is called a
 * video by its ending, its media type or the names of the members around it, else the first that is not called a picture or a sound. With
 * `named`, only one that is called a video or a URL of its own: for a view of a render, which holds other links too.
 */
export function findVideoUrl(result: unknown, { named = false } = {}): string | null {
  const found = urlsIn(result, { names: '', media_type: '', member: '' })
  const video = found.find(({ url, names, media_type, member }) => {
    if (OTHER.test(member)) return false
    return VIDEO.test(media_type) || VIDEO_FILE.test(url) || VIDEO.test(names)
  })
  const other = found.find(
    ({ url, names, media_type, member }) =>
      !OTHER.test(media_type) && !OTHER_FILE.test(url) && !OTHER.test(names) && (!named || OWN_URL.test(member)),
  )
  return (video ?? other)?.url ?? null
}

type Place = { names: string; media_type: string; member: string }
type Found = Place & { url: string }

const VIDEO = /video/i
const OTHER = /image|thumbnail|poster|preview|cover|audio|frame/i
const VIDEO_FILE = /\.(mp4|mov|webm|mkv|m4v)(\?|#|$)/i
const OTHER_FILE = /\.(png|jpe?g|webp|gif|mp3|wav|json|txt|m3u8)(\?|#|$)/i
/** Members that hold the clip's URL in one protocol or another; new-api puts it into `fail_reason`. */
const OWN_URL =
  /^(|url|urls|uri|link|location|downloadlink|(unsigned|signed|output|result|download|file|media|content|clip)urls?|outputs?|results?|failreason)$/
/** What a reply repeats of the request, and links that are not the clip. */
export const NOT_A_CLIP =
  /^(inputs?|request|params|parameters|options|prompt|logs|get|cancel|stream|self|web|(init|source|input|reference|original).*|.*(reference|condition)s?|.*(status|cancel|response|polling|callback|webhook|stream|share|page|model)ur[li]|webhook|callback)$/
const DEPTH_MAX = 8

function urlsIn(value: unknown, place: Place, depth = 0): Found[] {
  if (typeof value === 'string') {
    const url = value.trim()
    // kie.ai has its results as JSON inside a text.
    if (url.startsWith('{') && depth < DEPTH_MAX) return urlsIn(parseExact(url), place, depth + 1)
    const isUrl = /^https?:\/\/\S+$/i.test(url) || (/urls?$/.test(place.member) && /^\/[^/\s]\S*$/.test(url))
    return isUrl ? [{ url, ...place }] : []
  }
  if (depth >= DEPTH_MAX) return []
  if (Array.isArray(value)) return value.flatMap((each) => urlsIn(each, place, depth + 1))
  if (!isRecord(value)) return []
  const media_type = typeof value.content_type === 'string' ? value.content_type : ''
  return Object.entries(value).flatMap(([name, each]) => {
    const member = plainWord(name)
    if (NOT_A_CLIP.test(member)) return []
    return urlsIn(each, { names: `${place.names}.${name}`, media_type, member }, depth + 1)
  })
}

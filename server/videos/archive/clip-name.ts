/** Most characters of a name, without the ending. */
const LENGTH_MAX = 60

/** What no file system of the people who download may refuse. Source: https://learn.microsoft.com/windows/win32/fileio/naming-a-file */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Cs}<>:"/\\|?*“”\s]+/gu

type Clip = { id: string; name: string | null; prompt: string }

/** A name for the downloaded clip: its own, or the first words of its prompt, or its id where these have none. */
export function clipName({ id, name, prompt }: Clip): string {
  return `${safeName(name ?? '') || safeName(prompt) || id}.mp4`
}

/** Of a clip in the name of its last frame: four bytes each, and the id, fit into the name of a file. */
const FRAME_TITLE_MAX = 40

/** A name for the last frame of a clip, which says whose it is: `A swan, video_019a-last-frame.png`. */
export function lastFrameName({ id, name, prompt }: Clip): string {
  const title = safeName(name ?? '', FRAME_TITLE_MAX) || safeName(prompt, FRAME_TITLE_MAX)
  return `${title && `${title}, `}${id}-last-frame.png`
}

/** Of which clip a file is the last frame, by its name: the id, and what the clip was called, if anything. Null for other files. */
export function readLastFrameName(filename: string): { id: string; title: string } | null {
  const [, title = '', id] = /^(?:(.*), )?(video_\w+)-last-frame\.png$/.exec(filename) ?? []
  return id === undefined ? null : { id, title }
}

function safeName(text: string, length_max: number = LENGTH_MAX): string {
  const words = text
    .replaceAll(/<\/?d>/g, ' ')
    .replaceAll(UNSAFE, ' ')
    .trim()
  const characters = [...words]
  const cut = characters.slice(0, length_max).join('')
  const whole = characters.length <= length_max ? cut : cut.replace(/ [^ ]*$/, '')
  return whole.replace(/^[. ]+|[., 。、]+$/g, '')
}

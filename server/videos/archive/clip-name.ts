/** Most characters of a name, without the ending. */
const LENGTH_MAX = 60

/** What no file system of the people who download may refuse. Source: https://learn.microsoft.com/windows/win32/fileio/naming-a-file */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Cs}<>:"/\\|?*“”\s]+/gu

/** A name for the downloaded clip: its own, or the first words of its prompt, or its id where these have none. */
export function clipName({ id, name, prompt }: { id: string; name: string | null; prompt: string }): string {
  return `${(name !== null && safeName(name)) || safeName(prompt) || id}.mp4`
}

function safeName(text: string): string {
  const words = text
    .replaceAll(/<\/?d>/g, ' ')
    .replaceAll(UNSAFE, ' ')
    .trim()
  const characters = [...words]
  const cut = characters.slice(0, LENGTH_MAX).join('')
  const whole = characters.length <= LENGTH_MAX ? cut : cut.replace(/ [^ ]*$/, '')
  return whole.replace(/^[. ]+|[., 。、]+$/g, '')
}

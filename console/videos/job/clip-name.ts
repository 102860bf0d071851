import { readablePrompt } from '../draft/prompt.ts'

/** Most characters of a name, without the ending. */
const LENGTH_MAX = 60

/** What no file system of the people who download may refuse. Source: https://learn.microsoft.com/windows/win32/fileio/naming-a-file */
const UNSAFE = /[\p{Cc}\p{Cf}\p{Cs}<>:"/\\|?*“”\s]+/gu

/** A name for the downloaded clip: the first words of its prompt, or its id where the prompt has none. */
export function clipName({ id, prompt }: { id: string; prompt: string }): string {
  const words = readablePrompt(prompt).replaceAll(UNSAFE, ' ').trim()
  const characters = [...words]
  const cut = characters.slice(0, LENGTH_MAX).join('')
  const whole = characters.length <= LENGTH_MAX ? cut : cut.replace(/ [^ ]*$/, '')
  const name = whole.replace(/^[. ]+|[., 。、]+$/g, '')
  return `${name === '' ? id : name}.mp4`
}

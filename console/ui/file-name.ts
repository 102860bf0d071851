import { readLastFrameName } from '../../server/videos/archive/clip-name.ts'
import { useText } from '../text/use-text.ts'

/** What a file is called where a person sees it: its name, or of which clip it is the last frame. */
export function useFileName(): (filename: string) => string {
  const t = useText('kit')
  return (filename) => {
    const clip = readLastFrameName(filename)
    if (clip === null) return filename
    return clip.title === '' ? t('last_frame') : t('last_frame_of', clip)
  }
}

import { Star as StarIcon } from 'lucide-react'
import type { Labels } from '../../../server/videos/labels/schema.ts'
import { useText } from '../../text/use-text.ts'
import { type ButtonLook, IconButton } from '../../ui/button.tsx'
import { useChangeLabels } from './change-labels.ts'

type StarProps = ButtonLook & { labels: Labels; name: string; className?: string }

/** Makes a video a favorite, or no longer. `name`: what the video is called, for screen readers. */
export function Star({ labels, name, ...look }: StarProps) {
  const t = useText('videos/clips')
  const { mutate, isPending, variables } = useChangeLabels()
  const isOn = (isPending ? variables.favorite : labels.favorite) === true
  return (
    <IconButton
      {...look}
      label={t('favorite', { name })}
      aria-pressed={isOn}
      icon={<StarIcon className={isOn ? 'fill-current' : ''} />}
      onClick={() => mutate({ ids: [labels.id], favorite: !isOn })}
    />
  )
}

import { useNavigate } from '@tanstack/react-router'
import { Columns2 } from 'lucide-react'
import { lazy, Suspense, useEffect, useMemo, useRef, useState } from 'react'
import { withTexts } from '../../text/languages.ts'
import { useText } from '../../text/use-text.ts'
import { Button } from '../../ui/button.tsx'
import { Note } from '../../ui/failure-note.tsx'
import { widthByHeight } from '../draft/draft.ts'
import { contentPath, type VideoJob } from '../jobs/job.ts'
import { Transport } from '../viewer/transport.tsx'
import { timeOfFrame, useFrameRate, useSpeed, useViewing } from '../viewer/viewing.ts'
import { captionsOf } from './captions.ts'

const ComparePicker = lazy(() =>
  withTexts('videos/clips', import('../viewer/compare-picker.tsx')).then((module) => ({
    default: module.ComparePicker,
  })),
)

/** The video with the browser's own controls and those of the viewer. Its box has the right aspect ratio before anything loads. */
export function VideoPlayer({ job, title }: { job: VideoJob; title: string }) {
  const t = useText('videos')
  const navigate = useNavigate()
  const [broken, setBroken] = useState(false)
  const [choosing, setChoosing] = useState(false)
  const captions = useTextUrl(useMemo(() => captionsOf(job.prompt, job.seconds), [job.prompt, job.seconds]))
  const player = useRef<HTMLVideoElement>(null)
  const { loop } = useViewing()
  const rate = useFrameRate(player)
  useSpeed([player])
  const step = (frames: 1 | -1) => {
    const video = player.current!
    video.pause()
    video.currentTime = Math.min(video.duration || 0, timeOfFrame(video.currentTime, frames, rate.current))
  }
  return (
    <div className="flex flex-col gap-3" data-viewer tabIndex={-1}>
      <VideoFrame job={job}>
        {/* biome-ignore lint/a11y/useMediaCaption: the captions come a moment later. */}
        <video
          ref={player}
          src={contentPath(job.id)}
          poster={contentPath(job.id, 'thumbnail')}
          controls
          loop={loop}
          playsInline
          preload="metadata"
          aria-label={t('player', { title: title.slice(0, 200) })}
          onError={() => setBroken(true)}
          className="size-full bg-[#000] object-contain"
        >
          {captions && <track kind="captions" src={captions} srcLang="mul" label={t('captions')} />}
        </video>
      </VideoFrame>
      {broken && <Note tone="warning">{t('player_failed')}</Note>}
      <Transport onStep={step}>
        <Button icon={<Columns2 />} className="ms-auto" onClick={() => setChoosing(true)}>
          {t('viewer.compare')}
        </Button>
      </Transport>
      <p className="text-xs text-muted pointer-coarse:hidden">{t('viewer.keys')}</p>
      {choosing && (
        <Suspense>
          <ComparePicker
            job={job}
            onClose={() => setChoosing(false)}
            onChoose={(other) =>
              void navigate({ to: '/videos/$id', params: { id: job.id }, search: { with: other }, replace: true })
            }
          />
        </Suspense>
      )}
    </div>
  )
}

/** A box with the aspect ratio of the job, as large as the window, or `--clip-height` around it, allows. */
export function VideoFrame({ job, children }: { job: VideoJob; children: React.ReactNode }) {
  const ratio = widthByHeight(job.aspect_ratio)
  return (
    <div className="overflow-hidden rounded-xl bg-sunken outline-1 -outline-offset-1 outline-line">
      <div
        className="relative mx-auto max-h-(--clip-height,70dvh) w-full"
        style={{ aspectRatio: String(ratio), maxWidth: `calc(var(--clip-height, 70dvh) * ${ratio})` }}
      >
        {children}
      </div>
    </div>
  )
}

/** An object URL of the text while the component is mounted. */
function useTextUrl(text: string): string | null {
  const [url, setUrl] = useState<string | null>(null)
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([text], { type: 'text/vtt' }))
    setUrl(made)
    return () => URL.revokeObjectURL(made)
  }, [text])
  return url
}

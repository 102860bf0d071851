import { Pause, Play, X } from 'lucide-react'
import { type CSSProperties, useRef, useState } from 'react'
import { useLabelsOfPages } from '../../api/queries.ts'
import { useText } from '../../text/use-text.ts'
import { Button, IconButton, Link } from '../../ui/button.tsx'
import { cx } from '../../ui/class-names.ts'
import { useFormat } from '../../ui/data/format.tsx'
import { Note } from '../../ui/failure-note.tsx'
import { Segmented, Slider } from '../../ui/form/choice.tsx'
import { PageHeader } from '../../ui/layout.tsx'
import { widthByHeight } from '../draft/draft.ts'
import { beginningOf } from '../draft/prompt.ts'
import { VideoFrame } from '../job/player.tsx'
import { contentPath, type VideoJob } from '../jobs/job.ts'
import { useKeys } from './keys.ts'
import { usePlayhead } from './playhead.ts'
import { Transport } from './transport.tsx'

type Sound = 'first' | 'second' | 'none'
const SOUNDS: readonly Sound[] = ['first', 'second', 'none']
const TITLE_CHARACTERS = 200
/** What the page shows besides the clips: without it a clip is as high as the window has room for. */
const AROUND = { beside: '23rem', below: '29rem' }
/** Of the scrubber: finer than a frame. */
const STEP_SECONDS = 0.01

type CompareProps = { jobs: readonly [VideoJob, VideoJob]; onEnd: () => void }

/** Two clips side by side with one playhead. */
export function Compare({ jobs, onEnd }: CompareProps) {
  const t = useText('videos')
  const { number } = useFormat()
  const players = [useRef<HTMLVideoElement>(null), useRef<HTMLVideoElement>(null)] as const
  const [sound, setSound] = useState<Sound>('first')
  const [broken, setBroken] = useState(false)
  const { time, playing, length, seek, step, toggle, onLoaded } = usePlayhead(...players)
  useKeys({ ' ': toggle })
  const labels = useLabelsOfPages(jobs.map(({ id }) => [id]))
  const titles = jobs.map(({ id, prompt }) => beginningOf(labels.get(id)?.name ?? prompt, TITLE_CHARACTERS))
  const seconds = (value: number) => number(Math.round(value * 100) / 100)
  const ratios = jobs.map(({ aspect_ratio }) => widthByHeight(aspect_ratio))
  const isUpright = ratios.every((ratio) => ratio <= 1)
  const room = {
    // As wide as they are in proportion, both have the same height.
    '--columns': ratios.map((ratio) => `minmax(0, ${ratio}fr)`).join(' '),
    '--beside': `calc(100dvh - ${AROUND.beside})`,
    '--below': `calc((100dvh - ${AROUND.below}) / 2)`,
  } as CSSProperties
  const shown = t('viewer.playhead_value', { at: seconds(time), total: seconds(length) })
  return (
    <>
      <PageHeader
        title={t('viewer.compare_title')}
        actions={
          <Button icon={<X />} onClick={onEnd}>
            {t('viewer.compare_end')}
          </Button>
        }
      />
      <div
        className={cx(
          'grid gap-4 lg:grid-cols-(--columns) lg:[--clip-height:max(12rem,var(--beside))]',
          isUpright
            ? 'grid-cols-(--columns) [--clip-height:max(12rem,var(--beside))]'
            : 'grid-cols-[minmax(0,1fr)] [--clip-height:max(10rem,var(--below))]',
        )}
        style={room}
        data-viewer
        tabIndex={-1}
      >
        {(['first', 'second'] as const).map((place, at) => (
          <figure key={place} className="flex min-w-0 flex-col gap-2" data-compared={place}>
            <VideoFrame job={jobs[at]!}>
              <video
                ref={players[at]}
                src={contentPath(jobs[at]!.id)}
                muted={sound !== place}
                playsInline
                preload="auto"
                aria-label={t(`viewer.${place}`, { title: titles[at]! })}
                onLoadedMetadata={onLoaded}
                onClick={toggle}
                onError={() => setBroken(true)}
                className="size-full bg-[#000] object-contain"
              />
            </VideoFrame>
            <figcaption className="line-clamp-2 text-sm [overflow-wrap:anywhere]">
              <Link to="/videos/$id" params={{ id: jobs[at]!.id }}>
                {titles[at]}
              </Link>
            </figcaption>
          </figure>
        ))}
      </div>
      {broken && <Note tone="warning">{t('player_failed')}</Note>}
      <div
        className="sticky bottom-0 z-10 mt-2 flex flex-col gap-3 bg-canvas pt-2 pb-[max(0.75rem,env(safe-area-inset-bottom))]"
        data-viewer
        tabIndex={-1}
      >
        <div className="flex items-center gap-3">
          <IconButton
            variant="primary"
            label={t(playing ? 'viewer.pause' : 'viewer.play')}
            icon={playing ? <Pause /> : <Play />}
            onClick={toggle}
          />
          <Slider
            min={0}
            max={Math.max(length, STEP_SECONDS)}
            step={STEP_SECONDS}
            value={Math.min(time, length)}
            onChange={seek}
            label={t('viewer.playhead')}
          />
          <span className="shrink-0 text-[0.8125rem] text-muted tabular-nums">{shown}</span>
        </div>
        <Transport onStep={step}>
          <span className="ms-auto flex items-center gap-2 text-sm">
            <span aria-hidden className="text-muted">
              {t('viewer.sound')}
            </span>
            <Segmented
              label={t('viewer.sound')}
              value={sound}
              options={SOUNDS.map((value) => ({ value, label: t(`viewer.sound_${value}`) }))}
              onChange={setSound}
            />
          </span>
        </Transport>
      </div>
      <p className="text-xs text-muted pointer-coarse:hidden">{t('viewer.keys_compare')}</p>
    </>
  )
}

import { useRef } from 'react'
import { useText } from '../text/use-text.ts'
import { PageHeader } from '../ui/layout.tsx'
import { toast } from '../ui/overlay/toast.ts'
import { Gallery } from './gallery/gallery.tsx'
import { NewestVideo } from './gallery/newest.tsx'
import { Studio } from './studio/studio.tsx'
import { WaitingList } from './waiting/waiting-list.tsx'

/** How far the beginning of the list is within the window, or above it, where a new card is in sight. */
const SEEN_PIXELS = 140
/** Long enough to reach the button in it. */
const SUBMITTED_MS = 8000

/** Studio and gallery: beside each other where there is room, below each other where there is not. */
export function VideosPage() {
  const t = useText('videos')
  const gallery = useRef<HTMLDivElement>(null)
  const showGallery = (first: Element | null | undefined = gallery.current) => {
    first?.scrollIntoView()
    gallery.current?.focus({ preventScroll: true })
  }
  /** Says `text` where what was submitted is not in sight, and whether it did. */
  const onSubmitted = (text: string) => {
    const list = () => gallery.current?.querySelector('[aria-labelledby=waiting], ul:has(> [aria-setsize])')
    const top = (list() ?? gallery.current)?.getBoundingClientRect().top ?? 0
    if (top > -SEEN_PIXELS && top < innerHeight - SEEN_PIXELS) return false
    toast(
      <>
        {text}
        <button
          type="button"
          onClick={() => showGallery(list())}
          className="block text-accent underline underline-offset-2"
        >
          {t('show')}
        </button>
      </>,
      'success',
      SUBMITTED_MS,
    )
    return true
  }
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] xl:grid-cols-[25rem_minmax(0,1fr)] xl:grid-rows-[auto_1fr] xl:gap-x-8 min-[100rem]:grid-cols-[27rem_minmax(0,1fr)]">
      <div className="xl:col-start-2">
        <PageHeader title={t('title')} />
        <NewestVideo onShowAll={() => showGallery()} />
      </div>
      <div className="mb-8 xl:sticky xl:top-8 xl:col-start-1 xl:row-span-2 xl:row-start-1 xl:mb-0 xl:self-start">
        <Studio onSubmitted={onSubmitted} />
      </div>
      <div ref={gallery} tabIndex={-1} className="min-w-0 scroll-mt-16 outline-none xl:col-start-2">
        <WaitingList />
        <Gallery />
      </div>
    </div>
  )
}

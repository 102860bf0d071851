import { useRef } from 'react'
import { useText } from '../text/use-text.ts'
import { PageHeader } from '../ui/layout.tsx'
import { Gallery } from './gallery/gallery.tsx'
import { NewestVideo } from './gallery/newest.tsx'
import { Studio } from './studio/studio.tsx'
import { WaitingList } from './waiting/waiting-list.tsx'

/** Studio and gallery: beside each other where there is room, below each other where there is not. */
export function VideosPage() {
  const t = useText('videos')
  const gallery = useRef<HTMLDivElement>(null)
  const showGallery = () => {
    gallery.current?.scrollIntoView()
    gallery.current?.focus({ preventScroll: true })
  }
  return (
    <div className="grid grid-cols-[minmax(0,1fr)] xl:grid-cols-[25rem_minmax(0,1fr)] xl:grid-rows-[auto_1fr] xl:gap-x-8 min-[100rem]:grid-cols-[27rem_minmax(0,1fr)]">
      <div className="xl:col-start-2">
        <PageHeader title={t('title')} />
        <NewestVideo onShowAll={showGallery} />
      </div>
      <div className="mb-8 xl:sticky xl:top-8 xl:col-start-1 xl:row-span-2 xl:row-start-1 xl:mb-0 xl:self-start">
        <Studio />
      </div>
      <div ref={gallery} tabIndex={-1} className="min-w-0 scroll-mt-16 outline-none xl:col-start-2">
        <WaitingList />
        <Gallery />
      </div>
    </div>
  )
}

import { Download, FileQuestion, ExternalLink as OpenIcon, Trash2 } from 'lucide-react'
import { type ReactNode, useEffect, useState } from 'react'
import type { StoredFile } from '../api/upload.ts'
import { useText } from '../text/use-text.ts'
import { Button, buttonClass } from '../ui/button.tsx'
import { cx } from '../ui/class-names.ts'
import { Code, CopyButton } from '../ui/data/code.tsx'
import { DateTime, useFormat } from '../ui/data/format.tsx'
import { FailureNote } from '../ui/failure-note.tsx'
import { useFileName } from '../ui/file-name.ts'
import { Skeleton } from '../ui/layout.tsx'
import { Dialog } from '../ui/overlay/dialog.tsx'
import { contentPath, useDocument } from './content.ts'

type Props = {
  file: StoredFile | null
  mayDelete: boolean
  onClose: () => void
  onDelete: (file: StoredFile) => void
}

/** A preview of a file with its properties. */
export function PreviewDialog({ file, mayDelete, onClose, onDelete }: Props) {
  const t = useText('files')
  const kit = useText('kit')
  const nameOf = useFileName()
  if (file === null) return null
  const actions = (
    <>
      <a href={contentPath(file)} download className={buttonClass()}>
        <Download aria-hidden />
        {t('download')}
      </a>
      {mayDelete ? (
        <Button
          variant="ghost"
          icon={<Trash2 />}
          className="order-first -ms-3.5 me-auto text-danger!"
          onClick={() => onDelete(file)}
        >
          {t('delete')}
        </Button>
      ) : (
        <p className="order-first me-auto self-center text-[0.8125rem] text-muted">{kit('delete_own_only')}</p>
      )}
    </>
  )
  return (
    <Dialog
      open
      size="lg"
      onOpenChange={(open) => !open && onClose()}
      title={<span className="[overflow-wrap:anywhere]">{nameOf(file.filename)}</span>}
      actions={actions}
    >
      <div className="flex flex-col gap-4">
        <Content file={file} />
        <Facts file={file} />
      </div>
    </Dialog>
  )
}

function Facts({ file }: { file: StoredFile }) {
  const t = useText('files')
  const { bytes } = useFormat()
  const facts: Array<[string, ReactNode]> = [
    [t('column_purpose'), t(`purpose.${file.purpose}`)],
    [t('column_size'), bytes(file.bytes)],
    [t('column_created'), <DateTime key="created" at={file.created_at} />],
    [t('column_expires'), <DateTime key="expires" at={file.expires_at} />],
  ]
  return (
    <div className="flex flex-col gap-3 text-sm">
      <dl className="flex flex-col gap-x-6 gap-y-3 sm:flex-row sm:justify-between">
        {facts.map(([name, value]) => (
          <div key={name} className="flex justify-between gap-4 sm:flex-col sm:justify-start sm:gap-0.5">
            <dt className="text-[0.8125rem] text-muted">{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      <dl className="flex items-center justify-between gap-2 border-t border-line pt-3 sm:justify-start">
        <dt className="text-[0.8125rem] text-muted">{t('id')}</dt>
        <dd className="flex min-w-0 items-center gap-1">
          <Code>{file.id}</Code>
          <CopyButton text={file.id} />
        </dd>
      </dl>
    </div>
  )
}

/** The place of the content has its size before it is there. */
const FRAME =
  'relative grid h-[min(50vh,26rem)] place-items-center overflow-hidden rounded-lg border border-line bg-sunken'

function Content({ file }: { file: StoredFile }) {
  const { purpose } = file
  if (purpose === 'vision') return <ImagePreview file={file} />
  if (purpose === 'video') return <VideoPreview file={file} />
  if (purpose === 'audio') return <AudioPreview file={file} />
  return <Document file={file} />
}

function ImagePreview({ file }: { file: StoredFile }) {
  const [state, setState] = useState<'loading' | 'shown' | 'broken'>('loading')
  const name = useFileName()(file.filename)
  if (state === 'broken') return <NoPreview />
  return (
    <div className={FRAME}>
      {state === 'loading' && <Skeleton className="absolute inset-0 rounded-none" />}
      <img
        src={contentPath(file)}
        alt={name}
        onLoad={() => setState('shown')}
        onError={() => setState('broken')}
        className={cx('absolute inset-0 size-full object-contain', state === 'loading' && 'opacity-0')}
      />
    </div>
  )
}

/** Plays from the service, which sends the requested ranges. */
function VideoPreview({ file }: { file: StoredFile }) {
  const [broken, setBroken] = useState(false)
  if (broken) return <NoPreview />
  return (
    <div className={FRAME}>
      {/* biome-ignore lint/a11y/useMediaCaption: an uploaded video comes without captions. */}
      <video
        controls
        playsInline
        preload="metadata"
        aria-label={file.filename}
        src={contentPath(file)}
        onError={() => setBroken(true)}
        className="absolute inset-0 size-full object-contain"
      />
    </div>
  )
}

function AudioPreview({ file }: { file: StoredFile }) {
  const [broken, setBroken] = useState(false)
  if (broken) return <NoPreview />
  return (
    <div className="rounded-lg border border-line bg-sunken px-4 py-6">
      {/* biome-ignore lint/a11y/useMediaCaption: uploaded audio comes without captions. */}
      <audio
        controls
        preload="metadata"
        aria-label={file.filename}
        src={contentPath(file)}
        onError={() => setBroken(true)}
        className="h-10 w-full"
      />
    </div>
  )
}

/** A document is known by its bytes alone. */
function Document({ file }: { file: StoredFile }) {
  const t = useText('files')
  const { data, error, refetch } = useDocument(file)
  if (error) return <FailureNote error={error} onRetry={() => void refetch()} />
  if (data === undefined) {
    return (
      <div className={FRAME}>
        <Skeleton className="absolute inset-0 rounded-none" />
      </div>
    )
  }
  if (data.kind === 'image') return <ImagePreview file={file} />
  if (data.kind === 'video') return <VideoPreview file={file} />
  if (data.kind === 'audio') return <AudioPreview file={file} />
  if (data.kind === 'pdf') return <Pdf blob={data.blob} />
  if (data.kind !== 'text') return <NoPreview />
  return (
    <div className="flex flex-col gap-2">
      <section
        aria-label={file.filename}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard.
        tabIndex={0}
        className="h-[min(50vh,26rem)] overflow-auto rounded-lg border border-line bg-sunken p-4"
      >
        <pre className="font-mono text-[0.8125rem] leading-relaxed break-words whitespace-pre-wrap">{data.text}</pre>
      </section>
      {!data.whole && <p className="text-[0.8125rem] text-muted">{t('only_beginning')}</p>}
    </div>
  )
}

/** The browser shows it with its own reader, in a tab of its own. */
function Pdf({ blob }: { blob: Blob }) {
  const t = useText('files')
  const [url, setUrl] = useState<string>()
  useEffect(() => {
    const made = URL.createObjectURL(blob)
    setUrl(made)
    return () => URL.revokeObjectURL(made)
  }, [blob])
  return (
    <div className={cx(FRAME, 'content-center gap-3')}>
      <p className="text-sm text-muted">{t('pdf_text')}</p>
      <a href={url} target="_blank" rel="noreferrer" className={buttonClass()}>
        <OpenIcon aria-hidden />
        {t('open_pdf')}
      </a>
    </div>
  )
}

function NoPreview() {
  const t = useText('files')
  return (
    <div className={cx(FRAME, 'content-center gap-2 px-6 text-center text-sm text-muted')}>
      <FileQuestion aria-hidden className="size-6" />
      <p>{t('no_preview')}</p>
    </div>
  )
}

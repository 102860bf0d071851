import { Upload } from 'lucide-react'
import { type DragEvent, type ReactNode, useId, useRef, useState } from 'react'
import { useText } from '../../text/use-text.ts'
import { cx } from '../class-names.ts'

type FileDropProps = {
  onFiles: (files: File[]) => void
  /** As the `accept` of an input: `image/png,image/jpeg`. The service checks for itself. */
  accept?: string
  multiple?: boolean
  disabled?: boolean
  /** What may be dropped, how large. */
  hint?: ReactNode
  label?: string
  compact?: boolean
}

/** Takes files by choosing, dropping or pasting. */
export function FileDrop({ onFiles, accept, multiple, disabled, hint, label, compact }: FileDropProps) {
  const t = useText('kit')
  const id = useId()
  const input = useRef<HTMLInputElement>(null)
  const [over, setOver] = useState(false)
  const take = (list: FileList | null | undefined) => {
    const files = [...(list ?? [])]
    if (!disabled && files.length > 0) onFiles(multiple ? files : files.slice(0, 1))
    if (input.current) input.current.value = ''
  }
  const drop = (event: DragEvent) => {
    event.preventDefault()
    setOver(false)
    take(event.dataTransfer.files)
  }
  return (
    <label
      htmlFor={id}
      onDragOver={(event) => {
        event.preventDefault()
        setOver(!disabled)
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
      onPaste={(event) => take(event.clipboardData.files)}
      className={cx(
        'flex flex-col items-center justify-center gap-1 rounded-xl border border-dashed border-control/60 bg-surface px-4 text-center text-sm transition-colors hover:border-accent hover:bg-hover has-focus-visible:outline-2 has-focus-visible:outline-offset-2 has-focus-visible:outline-accent',
        compact ? 'py-3' : 'py-8',
        over && 'border-accent bg-accent-soft',
        disabled && 'pointer-events-none opacity-55',
      )}
    >
      <input
        ref={input}
        id={id}
        type="file"
        {...{ accept, multiple, disabled }}
        onChange={(event) => take(event.target.files)}
        className="sr-only"
      />
      <span className="flex items-center gap-2 font-medium">
        <Upload aria-hidden className="size-4 text-muted" />
        {label ?? t(multiple ? 'choose_files' : 'choose_file')}
      </span>
      {hint && <span className="text-[0.8125rem] text-muted">{hint}</span>}
    </label>
  )
}

import { Progress } from 'radix-ui'

/** How far something is, 0 to 1; null while that is unknown. `label` is read aloud. */
export function ProgressBar({ share, label }: { share: number | null; label: string }) {
  const percent = share === null ? null : Math.round(Math.min(1, Math.max(0, share)) * 100)
  return (
    <Progress.Root value={percent} aria-label={label} className="h-1.5 w-full overflow-hidden rounded-full bg-line">
      <Progress.Indicator
        className="h-full rounded-full bg-accent transition-[translate] duration-500 data-[state=indeterminate]:animate-breathe"
        style={{ translate: `${(percent ?? 100) - 100}%` }}
      />
    </Progress.Root>
  )
}

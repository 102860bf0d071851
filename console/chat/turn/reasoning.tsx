import { ChevronRight } from 'lucide-react'
import { useId, useState } from 'react'
import { useText } from '../../text/use-text.ts'
import { cx } from '../../ui/class-names.ts'
import { useFormat } from '../../ui/data/format.tsx'
import type { AssistantMessage } from '../conversation/conversation.ts'

/** A shorter time is mostly the network's. */
const SECONDS_MIN = 1

/** The reasoning of an answer, collapsed by default. */
export function Reasoning({ message }: { message: AssistantMessage }) {
  const t = useText('chat')
  const { number } = useFormat()
  const id = useId()
  const [open, setOpen] = useState(false)
  const { reasoning, reasoning_ms, status, text, tool_calls } = message
  if (reasoning === '') return null
  const reasoningNow = status === 'streaming' && text === '' && tool_calls.length === 0
  const seconds = Math.round((reasoning_ms ?? 0) / 1000)
  const title = seconds >= SECONDS_MIN ? t('thought_for', { seconds: number(seconds) }) : t('thought')
  return (
    <div className="flex flex-col gap-2">
      <button
        type="button"
        aria-expanded={open}
        aria-controls={id}
        onClick={() => setOpen(!open)}
        className="-ms-1 flex h-7 items-center gap-1.5 self-start rounded-md px-1 text-[0.8125rem] text-muted hover:text-ink pointer-coarse:h-10"
      >
        <ChevronRight aria-hidden className={cx('size-4 transition-transform', open && 'rotate-90')} />
        <span className={cx(reasoningNow && 'animate-breathe')}>{reasoningNow ? t('thinking') : title}</span>
      </button>
      <div
        id={id}
        hidden={!open}
        className="border-s-2 border-line ps-4 text-[0.8125rem] leading-relaxed [overflow-wrap:anywhere] whitespace-pre-wrap text-muted"
      >
        {reasoning}
      </div>
    </div>
  )
}

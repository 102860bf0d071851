import { MessageSquareQuote } from 'lucide-react'
import { type KeyboardEvent, useEffect, useRef } from 'react'
import { useSite } from '../../api/queries.ts'
import { useText } from '../../text/use-text.ts'
import { Button } from '../../ui/button.tsx'
import { cx } from '../../ui/class-names.ts'
import { useFormat } from '../../ui/data/format.tsx'
import { Field } from '../../ui/form/field.tsx'
import { Textarea } from '../../ui/form/input.tsx'
import { Tooltip } from '../../ui/tooltip.tsx'
import { takeOpening } from '../draft/draft-store.ts'
import { countCharacters, dialogueOf, PROMPT_MAX, toggleDialogue, unpairedTag } from '../draft/prompt.ts'
import { focusPrompt, insertIntoPrompt, showInPrompt } from '../draft/prompt-area.ts'

type Props = {
  prompt: string
  onChange: (prompt: string) => void
  error: string | null
  /** Names of files in the prompt that are not there. */
  missing: readonly string[]
}

/** The prompt, with a character count and a button that marks dialogue. */
export function PromptField({ prompt, onChange, error, missing }: Props) {
  const t = useText('videos')
  const { number } = useFormat()
  const translates = useSite().data?.translates === true
  const area = useRef<HTMLTextAreaElement>(null)
  // After the page has taken the focus, and its place in the window.
  useEffect(() => {
    const frame = requestAnimationFrame(() => takeOpening('prompt') && focusPrompt())
    return () => cancelAnimationFrame(frame)
  }, [])
  const used = countCharacters(prompt)
  const over = Math.max(0, used - PROMPT_MAX)
  const count = { used: number(used), max: number(PROMPT_MAX), over: number(over) }
  const lines = dialogueOf(prompt)
  const markDialogue = () => {
    const { selectionStart, selectionEnd } = area.current!
    const { text, from, to } = toggleDialogue(prompt, selectionStart, selectionEnd)
    insertIntoPrompt(text, onChange, { from: 0, to: prompt.length })
    area.current!.setSelectionRange(from, to)
  }
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "'" || !(event.ctrlKey || event.metaKey)) return
    event.preventDefault()
    markDialogue()
  }
  return (
    <div className="flex flex-col gap-1.5">
      <Field
        label={t('prompt')}
        error={error}
        aside={
          <span className={cx('tabular-nums', over > 0 && 'font-medium text-danger')}>
            {t(over > 0 ? 'prompt_over' : 'prompt_count', count)}
          </span>
        }
      >
        <Textarea
          ref={area}
          rows={4}
          name="prompt"
          value={prompt}
          aria-invalid={over > 0 || undefined}
          placeholder={t(translates ? 'prompt_placeholder' : 'prompt_placeholder_english')}
          onChange={(event) => onChange(event.target.value)}
          onKeyDown={onKeyDown}
          className="min-h-28! max-h-[40vh]! leading-relaxed max-xl:scroll-mt-28"
        />
      </Field>
      <PromptNotes {...{ prompt, missing }} />
      <div className="flex min-w-0 items-center gap-1 text-[0.8125rem] text-muted">
        <Tooltip text={t('dialogue_hint')}>
          <Button
            variant="ghost"
            size="sm"
            className="-ms-2"
            icon={<MessageSquareQuote />}
            aria-keyshortcuts="Control+'"
            // Keeps the selection, which the button works on.
            onPointerDown={(event) => event.preventDefault()}
            onClick={markDialogue}
          >
            {t('dialogue')}
          </Button>
        </Tooltip>
        <span className={cx('min-w-0 grow', lines.length > 0 && 'truncate')}>
          {lines.length > 0
            ? t('dialogue_lines', { lines: lines.map((line) => t('dialogue_line', { line })).join(' ') })
            : t('dialogue_explained')}
        </span>
      </div>
    </div>
  )
}

type NotesProps = { prompt: string; missing: readonly string[] }

/** What is probably a slip: a tag without its other half, a file that is not there. */
function PromptNotes({ prompt, missing }: NotesProps) {
  const t = useText('videos')
  const { list } = useFormat()
  const unpaired = unpairedTag(prompt)
  return (
    <div role="status" className="flex flex-col gap-1 text-[0.8125rem] text-warning empty:-mt-1.5">
      {unpaired && (
        <span className="flex flex-wrap items-center gap-x-2">
          {t(`references.${unpaired.tag}`)}
          <button type="button" className="font-medium underline" onClick={() => showInPrompt(unpaired)}>
            {t('references.show')}
          </button>
        </span>
      )}
      {missing.length > 0 && <span>{t('references.missing', { tags: list(missing) })}</span>}
    </div>
  )
}

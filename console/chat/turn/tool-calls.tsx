import { Wrench } from 'lucide-react'
import { type KeyboardEvent, type ReactNode, useState } from 'react'
import { useText } from '../../text/use-text.ts'
import { Button } from '../../ui/button.tsx'
import { CodeBlock } from '../../ui/data/code.tsx'
import { Field } from '../../ui/form/field.tsx'
import { Textarea } from '../../ui/form/input.tsx'
import type { AssistantMessage, ToolCall } from '../conversation/conversation.ts'
import { usePlayground } from '../playground/playground.ts'

/** Tool calls of an answer. The person stands in for their program: enters each result and continues. */
export function ToolCalls({ message, last }: { message: AssistantMessage; last: boolean }) {
  const t = useText('chat')
  const { actions } = usePlayground()
  const [typed, setTyped] = useState<Readonly<Record<string, string>>>({})
  const { id, tool_calls, status } = message
  const open = tool_calls.flatMap(({ result }, i) => (result === null ? [String(i)] : []))
  const ready = open.every((i) => (typed[i] ?? '').trim() !== '')
  const awaited = last && status === 'done' && open.length > 0
  const submitResults = () => ready && actions.submitResults(id, typed)
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && !event.nativeEvent.isComposing) submitResults()
  }
  return (
    <div className="flex flex-col gap-3">
      {tool_calls.map((call, i) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a model may use one id for two calls.
        <CallCard key={i} call={call}>
          {awaited && call.result === null && (
            <Field label={t('tool.result', { name: call.name })} hint={t('tool.result_hint')}>
              <Textarea
                rows={2}
                value={typed[i] ?? ''}
                onChange={({ target }) => setTyped({ ...typed, [i]: target.value })}
                onKeyDown={onKeyDown}
                className="min-h-14! font-mono text-[0.8125rem]!"
              />
            </Field>
          )}
        </CallCard>
      ))}
      {awaited && (
        <div className="flex flex-wrap items-center gap-3">
          <Button variant="primary" size="sm" aria-disabled={!ready || undefined} onClick={submitResults}>
            {t('tool.continue')}
          </Button>
          {!ready && <span className="text-[0.8125rem] text-muted">{t('tool.continue_hint')}</span>}
        </div>
      )}
      {status === 'done' && open.length === 0 && (
        <Button size="sm" className="self-start" onClick={() => actions.clearResults(id)}>
          {t('tool.change')}
        </Button>
      )}
    </div>
  )
}

function CallCard({ call, children }: { call: ToolCall; children: ReactNode }) {
  const t = useText('chat')
  return (
    <section
      aria-label={call.name}
      className="flex min-w-0 flex-col gap-3 rounded-xl border border-line bg-surface px-4 py-3 shadow-raised"
    >
      <div className="flex items-center gap-2 text-[0.8125rem]">
        <Wrench aria-hidden className="size-4 shrink-0 text-muted" />
        <span className="text-muted">{t('tool.calls')}</span>
        <span className="min-w-0 [overflow-wrap:anywhere] font-mono font-medium">{call.name}</span>
      </div>
      <CodeBlock code={readable(call.arguments)} label={t('tool.arguments')} />
      {call.result !== null && (
        <div className="flex flex-col gap-1.5">
          <span className="text-xs text-muted">{t('tool.given')}</span>
          <CodeBlock code={readable(call.result)} label={t('tool.given')} />
        </div>
      )}
      {children}
    </section>
  )
}

/** Indented JSON; unchanged when it is not JSON or has numbers that JavaScript would round. */
function readable(text: string): string {
  if (/\d{16}/.test(text)) return text
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

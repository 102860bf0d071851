import { Wrench } from 'lucide-react'
import { type KeyboardEvent, type ReactNode, useState } from 'react'
import { useText } from '../../text/use-text.ts'
import { Button } from '../../ui/button.tsx'
import { CodeBlock } from '../../ui/data/code.tsx'
import { Field } from '../../ui/form/field.tsx'
import { Textarea } from '../../ui/form/input.tsx'
import { type AssistantMessage, resultsOf, type ToolCall } from '../conversation/conversation.ts'
import { useConversation } from '../conversation/open-conversation.ts'
import { usePlayground } from '../playground/playground.ts'

/** Tool calls of an answer. The person stands in for their program: enters each result and continues. */
export function ToolCalls({ message, last }: { message: AssistantMessage; last: boolean }) {
  const t = useText('chat')
  const { conversation, actions } = usePlayground()
  const messages = useConversation(conversation, (now) => now.messages)
  const results = resultsOf(messages, message)
  const [typed, setTyped] = useState<Readonly<Record<string, string>>>({})
  const { id, tool_calls, status } = message
  const open = tool_calls.filter(({ call_id }) => !results.has(call_id))
  const ready = open.every(({ call_id }) => (typed[call_id] ?? '').trim() !== '')
  const awaited = last && status === 'done' && open.length > 0
  const submitResults = () => ready && actions.submitResults(new Map(Object.entries(typed)))
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && !event.nativeEvent.isComposing) submitResults()
  }
  return (
    <div className="flex flex-col gap-3">
      {tool_calls.map(({ call_id, ...call }) => (
        <CallCard key={call_id} {...call} result={results.get(call_id)}>
          {awaited && !results.has(call_id) && (
            <Field label={t('tool.result', { name: call.name })} hint={t('tool.result_hint')}>
              <Textarea
                rows={2}
                value={typed[call_id] ?? ''}
                onChange={({ target }) => setTyped({ ...typed, [call_id]: target.value })}
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

type CallCardProps = Pick<ToolCall, 'name' | 'arguments'> & { result: string | undefined; children: ReactNode }

function CallCard({ name, arguments: given, result, children }: CallCardProps) {
  const t = useText('chat')
  return (
    <section
      aria-label={name}
      className="flex min-w-0 flex-col gap-3 rounded-xl border border-line bg-surface px-4 py-3 shadow-raised"
    >
      <div className="flex items-center gap-2 text-[0.8125rem]">
        <Wrench aria-hidden className="size-4 shrink-0 text-muted" />
        <span className="text-muted">{t('tool.calls')}</span>
        <span className="min-w-0 [overflow-wrap:anywhere] font-mono font-medium">{name}</span>
      </div>
      <CodeBlock code={readable(given)} label={t('tool.arguments')} />
      {result !== undefined && (
        <div className="flex flex-col gap-1.5">
          <span className="text-xs text-muted">{t('tool.given')}</span>
          <CodeBlock code={readable(result)} label={t('tool.given')} />
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

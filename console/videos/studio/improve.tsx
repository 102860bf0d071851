import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Sparkles, Undo2 } from 'lucide-react'
import { useState } from 'react'
import { type ChatModel, useChatModels } from '../../api/chat-models.ts'
import { multiply, priceOfTokens, unitsOf } from '../../api/money.ts'
import { useSite } from '../../api/queries.ts'
import { request } from '../../api/request.ts'
import { useText } from '../../text/use-text.ts'
import { Button } from '../../ui/button.tsx'
import { useFormat } from '../../ui/data/format.tsx'
import { useFailureText } from '../../ui/failure-text.ts'
import { Field } from '../../ui/form/field.tsx'
import { Textarea } from '../../ui/form/input.tsx'
import { Tooltip } from '../../ui/tooltip.tsx'
import { keepDialogue, unpairedTag } from '../draft/prompt.ts'
import { insertIntoPrompt } from '../draft/prompt-area.ts'

/** Most tokens of a proposal and its reasoning, unless the model or half of its context has fewer. A prompt has at most 7,000 characters. */
const OUTPUT_TOKENS_MAX = 8192
/** What a model server puts around messages, at most. */
const TEMPLATE_TOKENS_MAX = 256

/** `asked`: the prompt at that time. `text`: null for an answer that is not offered. */
type Proposal = { asked: string; text: string | null; cost: string | null; currency: string }
type ImproveProps = {
  prompt: string
  onChange: (prompt: string) => void
  chat_model: string
  instruction: string
  /** The instruction is still that of the video model chosen before. */
  isChanging: boolean
}

/** A button that asks for a proposal, and the proposal. */
export function Improve({ prompt, onChange, chat_model, instruction, isChanging }: ImproveProps) {
  const t = useText('videos/help')
  const { money } = useFormat()
  const queries = useQueryClient()
  const model = useChatModels().data?.find(({ id }) => id === chat_model)
  const [proposal, setProposal] = useState<Proposal | null>(null)
  const [replaced, setReplaced] = useState<string | null>(null)
  const inEnglish = useSite().data?.translates === false && /[^\0-\x7f]/.test(prompt)
  const ask = useMutation({
    mutationFn: askForProposal,
    onSuccess: setProposal,
    onSettled: () => void queries.invalidateQueries({ queryKey: ['balance'] }),
  })
  const reason = useFailureText(ask.error)
  const isUnpaired = unpairedTag(prompt) !== null
  const isReady = prompt.trim() !== '' && !isUnpaired && !isChanging
  const improve = () => {
    if (!isReady) return
    setProposal(null)
    setReplaced(null)
    ask.mutate({ asked: prompt, instruction, chat_model, model })
  }
  const hint = isUnpaired ? t('unpaired') : t('hint', { model: model?.name ?? chat_model })
  return (
    <div className="-mt-2 flex flex-col gap-2">
      <div className="-ms-2 flex flex-wrap items-center gap-x-1 text-[0.8125rem] text-muted">
        <Tooltip text={hint}>
          <Button
            variant="ghost"
            size="sm"
            icon={<Sparkles />}
            busy={ask.isPending}
            aria-disabled={!isReady || undefined}
            onClick={improve}
          >
            {t(ask.isPending ? 'improving' : 'improve')}
          </Button>
        </Tooltip>
        {model && prompt.trim() !== '' && (
          <span className="tabular-nums">
            {t(inEnglish ? 'cost_max_english' : 'cost_max', {
              cost: money(costAtMost(model, [instruction, prompt]), model.pricing.currency, { digits: 'exact' }),
            })}
          </span>
        )}
      </div>
      <div role="status" className="text-[0.8125rem] text-danger empty:hidden">
        {reason !== null && t('failed', { reason })}
      </div>
      {proposal && (
        <ProposalCard
          proposal={proposal}
          isOutdated={proposal.asked !== prompt}
          onAccept={(text) => {
            setReplaced(prompt)
            insertIntoPrompt(text, onChange, { from: 0, to: prompt.length })
            setProposal(null)
          }}
          onDismiss={() => setProposal(null)}
        />
      )}
      {replaced !== null && replaced !== prompt && (
        <div className="flex flex-wrap items-center gap-x-2 text-[0.8125rem] text-muted">
          <span role="status">{t('replaced')}</span>
          <Button
            size="sm"
            icon={<Undo2 />}
            onClick={() => insertIntoPrompt(replaced, onChange, { from: 0, to: prompt.length })}
          >
            {t('restore')}
          </Button>
        </div>
      )}
    </div>
  )
}

type CardProps = {
  proposal: Proposal
  /** The prompt is another one than was asked about. */
  isOutdated: boolean
  onAccept: (text: string) => void
  onDismiss: () => void
}

function ProposalCard({ proposal, isOutdated, onAccept, onDismiss }: CardProps) {
  const t = useText('videos/help')
  const { money } = useFormat()
  const [text, setText] = useState(proposal.text ?? '')
  const cost = proposal.cost && money(proposal.cost, proposal.currency, { digits: 'exact' })
  return (
    <section
      aria-label={t('title')}
      className="flex flex-col gap-2 rounded-lg border border-accent/40 bg-accent-soft p-3 text-[0.8125rem]"
    >
      {proposal.text === null ? (
        <p role="alert">{t('unusable')}</p>
      ) : (
        <Field label={t('proposal')}>
          <Textarea rows={5} value={text} onChange={(event) => setText(event.target.value)} className="max-h-[40vh]!" />
        </Field>
      )}
      <p role="status" className="empty:hidden">
        {isOutdated && proposal.text !== null && t('outdated')}
      </p>
      <div className="flex flex-wrap items-center justify-end gap-2">
        {cost && <span className="me-auto tabular-nums">{t('cost', { cost })}</span>}
        <Button size="sm" onClick={onDismiss}>
          {t('dismiss')}
        </Button>
        {proposal.text !== null && (
          <Button size="sm" variant="primary" onClick={() => onAccept(text)}>
            {t('accept')}
          </Button>
        )}
      </div>
    </section>
  )
}

function outputMax({ max_output_tokens, context_length }: ChatModel): number {
  const room = context_length === null ? OUTPUT_TOKENS_MAX : Math.floor(context_length / 2)
  return Math.min(max_output_tokens ?? OUTPUT_TOKENS_MAX, OUTPUT_TOKENS_MAX, room)
}

/** What a proposal costs at most, rounded up to two digits. A token is at least one byte of the messages. */
function costAtMost(model: ChatModel, messages: readonly string[]): string {
  const bytes = messages.reduce((sum, text) => sum + new TextEncoder().encode(text).length, 0)
  const tokens = { input: bytes + TEMPLATE_TOKENS_MAX, cached_input: 0, output: outputMax(model) }
  const units = Number(unitsOf(priceOfTokens(model.pricing, tokens)))
  const step = 10 ** Math.max(0, String(units).length - 2)
  return multiply('0.00000001', Math.ceil(units / step) * step)
}

type Completion = {
  choices: Array<{ message: { content: string | null }; finish_reason: string }>
  usage: { prompt_tokens: number; completion_tokens: number; prompt_tokens_details?: { cached_tokens?: number } }
}

/** One chat completion of the person, whose dialogue is that of the prompt, byte for byte. */
async function askForProposal(options: {
  asked: string
  instruction: string
  chat_model: string
  model: ChatModel | undefined
}): Promise<Proposal> {
  const { asked, instruction, chat_model, model } = options
  const messages = [
    { role: 'system', content: instruction },
    { role: 'user', content: asked },
  ]
  const limit = model && outputMax(model)
  // The service shortens the model's own limit to what the messages leave of the context, but not one that it is sent.
  const isOwn = limit === model?.max_output_tokens
  const body = { model: chat_model, messages, ...(!isOwn && { max_completion_tokens: limit }) }
  const { choices, usage } = await request<Completion>('POST', '/v1/chat/completions', { body })
  const [choice] = choices
  const isWhole = choice?.finish_reason === 'stop'
  const tokens = {
    input: usage.prompt_tokens,
    cached_input: usage.prompt_tokens_details?.cached_tokens ?? 0,
    output: usage.completion_tokens,
  }
  return {
    asked,
    text: isWhole ? keepDialogue(asked, choice.message.content ?? '') : null,
    cost: model ? priceOfTokens(model.pricing, tokens) : null,
    currency: model?.pricing.currency ?? '',
  }
}

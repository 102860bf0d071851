import { useMutation, useQueryClient } from '@tanstack/react-query'
import { Sparkles } from 'lucide-react'
import { useState } from 'react'
import { type ChatModel, useChatModels } from '../../api/chat-models.ts'
import { priceOfTokens } from '../../api/money.ts'
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
  const t = useText('videos')
  const queries = useQueryClient()
  const model = useChatModels().data?.find(({ id }) => id === chat_model)
  const [proposal, setProposal] = useState<Proposal | null>(null)
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
    ask.mutate({ asked: prompt, instruction, chat_model, model })
  }
  const hint = isUnpaired ? t('help.unpaired') : t('help.hint', { model: model?.name ?? chat_model })
  return (
    <div className="-mt-2 flex flex-col gap-2">
      <Tooltip text={hint}>
        <Button
          variant="ghost"
          size="sm"
          className="-ms-2 self-start"
          icon={<Sparkles />}
          busy={ask.isPending}
          aria-disabled={!isReady || undefined}
          onClick={improve}
        >
          {t(ask.isPending ? 'help.improving' : 'help.improve')}
        </Button>
      </Tooltip>
      <div role="status" className="text-[0.8125rem] text-danger empty:hidden">
        {reason !== null && t('help.failed', { reason })}
      </div>
      {proposal && (
        <ProposalCard
          proposal={proposal}
          isOutdated={proposal.asked !== prompt}
          onAccept={(text) => {
            insertIntoPrompt(text, onChange, { from: 0, to: prompt.length })
            setProposal(null)
          }}
          onDismiss={() => setProposal(null)}
        />
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
  const t = useText('videos')
  const { money } = useFormat()
  const [text, setText] = useState(proposal.text ?? '')
  const cost = proposal.cost && money(proposal.cost, proposal.currency, { digits: 'exact' })
  return (
    <section
      aria-label={t('help.title')}
      className="flex flex-col gap-2 rounded-lg border border-accent/40 bg-accent-soft p-3 text-[0.8125rem]"
    >
      {proposal.text === null ? (
        <p role="alert">{t('help.unusable')}</p>
      ) : (
        <Field label={t('help.proposal')}>
          <Textarea rows={5} value={text} onChange={(event) => setText(event.target.value)} className="max-h-[40vh]!" />
        </Field>
      )}
      <p role="status" className="empty:hidden">
        {isOutdated && proposal.text !== null && t('help.outdated')}
      </p>
      <div className="flex flex-wrap items-center justify-end gap-2">
        {cost && <span className="me-auto tabular-nums">{t('help.cost', { cost })}</span>}
        <Button size="sm" onClick={onDismiss}>
          {t('help.dismiss')}
        </Button>
        {proposal.text !== null && (
          <Button size="sm" variant="primary" onClick={() => onAccept(text)}>
            {t('help.accept')}
          </Button>
        )}
      </div>
    </section>
  )
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
  const body = { model: chat_model, messages }
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

import { useMemo } from 'react'
import { useText } from '../../text/use-text.ts'
import { Button } from '../../ui/button.tsx'
import { useFormat } from '../../ui/data/format.tsx'
import { Field } from '../../ui/form/field.tsx'
import { Input, Select, Textarea } from '../../ui/form/input.tsx'
import { NEW_SETTINGS, type Settings } from '../conversation/conversation.ts'
import { useConversation } from '../conversation/open-conversation.ts'
import { usePlayground } from '../playground/playground.ts'
import { readSettings } from '../request/read-settings.ts'
import { ModelFacts } from './model-picker.tsx'
import { useProblemText } from './setting-problem.ts'
import { FormatSettings, ToolSettings } from './tool-settings.tsx'

/** Everything that goes into a request beside the messages. What is not set is not sent. */
export function SettingsForm() {
  const t = useText('chat')
  const { conversation, actions } = usePlayground()
  const settings = useConversation(conversation, (now) => now.settings)
  return (
    <div className="flex flex-col gap-6">
      <ModelFacts />
      <Field label={t('system')} hint={t('system_hint')}>
        <Textarea
          value={settings.system}
          placeholder={t('system_placeholder')}
          onChange={({ target }) => actions.set({ system: target.value })}
        />
      </Field>
      <ToolSettings />
      <Parameters settings={settings} />
    </div>
  )
}

type NumberField = 'temperature' | 'top_p' | 'max_tokens' | 'seed'
const RESET = ['temperature', 'top_p', 'max_tokens', 'stop', 'seed', 'reasoning_effort', 'response_format'] as const

/** Which parameters are not what a new conversation has. */
export function changedParameters(settings: Settings): Array<(typeof RESET)[number]> {
  return RESET.filter((field) => settings[field] !== NEW_SETTINGS[field])
}

function Parameters({ settings }: { settings: Settings }) {
  const t = useText('chat')
  const { model, actions } = usePlayground()
  const { number } = useFormat()
  const problemText = useProblemText()
  const problems = useMemo(() => readSettings(settings, model).problems, [settings, model])
  const errorOf = (field: keyof Settings) => {
    const problem = problems.find((each) => each.field === field)
    return problem ? problemText(problem) : null
  }
  const changed = changedParameters(settings).length > 0
  const reset = () => actions.set(Object.fromEntries(RESET.map((field) => [field, NEW_SETTINGS[field]])))
  const numeric = (field: NumberField, placeholder = t('default')) => (
    <Field label={t(`parameter.${field}`)} hint={t(`hint.${field}`)} error={errorOf(field)}>
      <Input
        inputMode={field === 'max_tokens' ? 'numeric' : 'decimal'}
        autoComplete="off"
        value={settings[field]}
        placeholder={placeholder}
        onChange={({ target }) => actions.set({ [field]: target.value })}
      />
    </Field>
  )
  const most = model.max_output_tokens
  return (
    <section aria-label={t('parameters')} className="flex flex-col gap-4">
      <div className="flex h-8 items-center justify-between gap-3">
        <h3 className="text-[0.8125rem] font-medium">{t('parameters')}</h3>
        {changed && (
          <Button size="sm" variant="ghost" onClick={reset} className="-me-2.5">
            {t('reset')}
          </Button>
        )}
      </div>
      <EffortSetting value={settings.reasoning_effort} />
      <FormatSettings />
      {numeric('temperature')}
      {numeric('top_p')}
      {numeric('max_tokens', most === null ? t('default') : number(most))}
      <Field label={t('parameter.stop')} hint={t('hint.stop')} error={errorOf('stop')}>
        <Textarea
          rows={1}
          value={settings.stop}
          spellCheck={false}
          onChange={({ target }) => actions.set({ stop: target.value })}
          className="min-h-9! font-mono text-[0.8125rem]!"
        />
      </Field>
      {numeric('seed')}
    </section>
  )
}

/** Only for models with reasoning efforts. */
function EffortSetting({ value }: { value: string }) {
  const t = useText('chat')
  const { model, actions } = usePlayground()
  const { reasoning_efforts: efforts, default_reasoning_effort: usual } = model
  if (efforts.length === 0) return null
  const unset = usual === null ? t('default_effort') : t('default_effort_named', { effort: usual })
  return (
    <Field label={t('parameter.reasoning_effort')} hint={t('hint.reasoning_effort')}>
      <Select
        value={efforts.includes(value) ? value : ''}
        onChange={(effort) => actions.set({ reasoning_effort: effort })}
        options={[{ value: '', label: unset }, ...efforts.map((effort) => ({ value: effort, label: effort }))]}
      />
    </Field>
  )
}

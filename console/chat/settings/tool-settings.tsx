import { useState } from 'react'
import { useText } from '../../text/use-text.ts'
import { Button } from '../../ui/button.tsx'
import { Badge } from '../../ui/data/badge.tsx'
import { Segmented } from '../../ui/form/choice.tsx'
import { Field } from '../../ui/form/field.tsx'
import { Input } from '../../ui/form/input.tsx'
import { useConversation } from '../conversation/open-conversation.ts'
import { usePlayground } from '../playground/playground.ts'
import { type Mistake, readSchema, readTools } from '../request/check-json.ts'
import { readSettings } from '../request/read-settings.ts'
import { JsonDialog } from './json-dialog.tsx'
import { useProblemText } from './setting-problem.ts'

const EXAMPLE_TOOLS = JSON.stringify(
  [
    {
      type: 'function',
      function: {
        name: 'get_weather',
        description: 'The weather of a city.',
        parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
      },
    },
  ],
  null,
  2,
)
const EXAMPLE_SCHEMA = JSON.stringify(
  {
    type: 'object',
    properties: { title: { type: 'string' }, seconds: { type: 'integer' } },
    required: ['title', 'seconds'],
    additionalProperties: false,
  },
  null,
  2,
)

/** The functions a model may call. */
export function ToolSettings() {
  const t = useText('chat')
  const { conversation, model, actions } = usePlayground()
  const text = useConversation(conversation, ({ settings }) => settings.tools)
  const [open, setOpen] = useState(false)
  const read = readTools(text)
  const names = 'tools' in read ? read.tools.map((tool) => tool.function.name) : []
  const able = model.capabilities.includes('tools')
  return (
    <section aria-label={t('tools')} className="flex flex-col gap-2">
      <div className="flex items-center justify-between gap-3">
        <h3 className="text-[0.8125rem] font-medium">{t('tools')}</h3>
        <Button size="sm" disabled={!able && text === ''} onClick={() => setOpen(true)}>
          {t(text === '' ? 'tools_add' : 'tools_edit')}
        </Button>
      </div>
      {names.length > 0 ? (
        <ul className="flex flex-wrap gap-1.5">
          {names.map((name) => (
            <li key={name} className="max-w-full">
              <Badge className="max-w-full font-mono">
                <span className="[overflow-wrap:anywhere]">{name}</span>
              </Badge>
            </li>
          ))}
        </ul>
      ) : (
        <p className="text-[0.8125rem] text-pretty text-muted">{t(able ? 'tools_none' : 'tools_unavailable')}</p>
      )}
      {open && (
        <JsonDialog
          title={t('tools')}
          description={t('tools_description')}
          value={text}
          example={EXAMPLE_TOOLS}
          mistakeOf={(json) => mistakeIn(readTools(json))}
          onSave={(tools) => actions.set({ tools: tools.trim() })}
          onClose={() => setOpen(false)}
        />
      )}
    </section>
  )
}

/** Text, JSON, or JSON of a schema. */
export function FormatSettings() {
  const t = useText('chat')
  const { conversation, model, actions } = usePlayground()
  const settings = useConversation(conversation, (now) => now.settings)
  const problemText = useProblemText()
  const [open, setOpen] = useState(false)
  const { response_format, schema, schema_name } = settings
  const able = model.capabilities.includes('structured_outputs')
  const problem = readSettings(settings, model).problems.find(({ field }) =>
    /^(schema|schema_name|response_format)$/.test(field),
  )
  const options = (['text', 'json_object', 'json_schema'] as const).map((value) => ({
    value,
    label: t(`format.${value}`),
    disabled: value === 'json_schema' && !able && response_format !== value,
  }))
  return (
    <Field
      label={t('parameter.response_format')}
      hint={t('hint.response_format')}
      error={problem && (schema !== '' || !able) ? problemText(problem) : null}
    >
      <Segmented
        value={response_format}
        options={options}
        onChange={(format) => {
          actions.set({ response_format: format })
          if (format === 'json_schema' && schema === '') setOpen(true)
        }}
      />
      {response_format === 'json_schema' && (
        <div className="flex items-center justify-between gap-3">
          <span className="min-w-0 truncate text-[0.8125rem] text-muted">
            {schema === '' ? t('schema_none') : t('schema_set', { name: schema_name })}
          </span>
          <Button size="sm" onClick={() => setOpen(true)}>
            {t('schema_edit')}
          </Button>
        </div>
      )}
      {open && <SchemaDialog onClose={() => setOpen(false)} />}
    </Field>
  )
}

function SchemaDialog({ onClose }: { onClose: () => void }) {
  const t = useText('chat')
  const { conversation, actions } = usePlayground()
  const { schema, schema_name } = useConversation(conversation, ({ settings }) => settings)
  return (
    <JsonDialog
      title={t('schema')}
      description={t('schema_description')}
      value={schema}
      example={EXAMPLE_SCHEMA}
      mistakeOf={(json) => mistakeIn(readSchema(json))}
      onSave={(text) => actions.set({ schema: text.trim() })}
      onClose={onClose}
    >
      <Field label={t('parameter.schema_name')} hint={t('hint.schema_name')}>
        <Input
          value={schema_name}
          maxLength={64}
          spellCheck={false}
          onChange={({ target }) => actions.set({ schema_name: target.value })}
          className="font-mono"
        />
      </Field>
    </JsonDialog>
  )
}

function mistakeIn(read: object | { mistake: Mistake }): Mistake | null {
  return 'mistake' in read ? read.mistake : null
}

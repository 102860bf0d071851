import type { Static } from 'typebox'
import { entitledChatModels, entitledVideoModel } from '../catalog/entitlements.ts'
import { type Route, route } from '../identity/caller/route.ts'
import { PromptHelpQuery, PromptHelpView } from './schema.ts'

/** For services that do not translate, whose video jobs fail on a Japanese prompt. */
const IN_ENGLISH =
  'Write the new prompt in English, whatever language the prompt is in. Only what <d>...</d> contains and text in quotation marks keep their language.'

/** With what the console improves a prompt: the person's own chat completion, as the operator has set it up. */
export const readPromptHelp: Route = route({
  method: 'GET',
  path: '/console/prompt_help',
  auth: 'session',
  summary: 'Which chat model improves prompts for a video model, and how',
  description: 'For a chat completion of your own, with the instruction as system message.',
  query: PromptHelpQuery,
  response: PromptHelpView,
  errors: ['model_not_found'],
  async handle({ config, engines }, { principal, query }) {
    const { id: model, prompt_help: own } = entitledVideoModel(config, principal.plan, query.model)
    const help = config.prompt_help
    const isOffered = entitledChatModels(config, principal.plan).some(({ id }) => id === help?.model)
    const instruction = own ?? help?.instruction
    return {
      object: 'prompt_help',
      model,
      chat_model: isOffered ? help!.model : null,
      instruction: isOffered ? (engines.translation.available ? instruction! : `${instruction}\n${IN_ENGLISH}`) : null,
    } satisfies Static<typeof PromptHelpView>
  },
})

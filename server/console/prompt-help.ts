import type { Static } from 'typebox'
import { entitledChatModels, entitledVideoModel } from '../catalog/entitlements.ts'
import { type Route, route } from '../identity/caller/route.ts'
import { PromptHelpQuery, PromptHelpView } from './schema.ts'

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
  async handle({ config }, { principal, query }) {
    const { id: model, prompt_help: own } = entitledVideoModel(config, principal.plan, query.model)
    const help = config.prompt_help
    const isOffered = entitledChatModels(config, principal.plan).some(({ id }) => id === help?.model)
    return {
      object: 'prompt_help',
      model,
      chat_model: isOffered ? help!.model : null,
      instruction: isOffered ? (own ?? help!.instruction) : null,
    } satisfies Static<typeof PromptHelpView>
  },
})

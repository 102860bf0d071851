import { type Route, route } from '../identity/caller/route.ts'
import { entitledChatModel, entitledChatModels } from './entitlements.ts'
import { ChatModelList, ChatModelView, chatModelView } from './schema.ts'

const listModels = route({
  method: 'GET',
  path: '/v1/models',
  auth: 'api_key_or_session',
  summary: 'List the chat models of your plan',
  description: 'Each with its capabilities, context length and prices.',
  response: ChatModelList,
  async handle(ctx, { principal }) {
    const models = entitledChatModels(ctx.config, principal.plan)
    return { object: 'list', data: models.map((model) => chatModelView(model, ctx.config)) }
  },
})

/** An id may contain slashes, raw or percent-encoded. */
const readModel = route({
  method: 'GET',
  path: '/v1/models/*',
  auth: 'api_key_or_session',
  summary: 'Read a chat model',
  description: 'One model of your plan, with its capabilities and prices.',
  response: ChatModelView,
  async handle(ctx, { principal, params }) {
    return chatModelView(entitledChatModel(ctx.config, principal.plan, params['*'] ?? ''), ctx.config)
  },
})

export const catalogRoutes: readonly Route[] = [listModels, readModel]

import type { ChatRequest } from '../../chat/contract.ts'

// What a model is asked to find out what it can.

export const WEATHER = {
  type: 'function' as const,
  function: {
    name: 'get_weather',
    description: 'The weather of a city now.',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string' } },
      required: ['city'],
      additionalProperties: false,
    },
  },
}
export const ASKS_WEATHER: ChatRequest['messages'] = [
  { role: 'user', content: 'What is the weather in Kyoto? Use the tool.' },
]

export const CITY: NonNullable<ChatRequest['response_format']> = {
  type: 'json_schema',
  json_schema: {
    name: 'city',
    strict: true,
    schema: {
      type: 'object',
      properties: { city: { type: 'string' }, population: { type: 'integer' } },
      required: ['city', 'population'],
      additionalProperties: false,
    },
  },
}
export const ASKS_CITY: ChatRequest['messages'] = [
  { role: 'user', content: 'Name a city and its population, as JSON.' },
]
export const ASKS_SUM: ChatRequest['messages'] = [
  { role: 'user', content: 'A train leaves at 9:40 and takes 95 minutes. When does it arrive? Think first.' },
]

/** Shows a red picture and asks for its color. */
export async function asksColor(): Promise<ChatRequest['messages']> {
  // Not at the start: it brings a native library.
  const { default: sharp } = await import('sharp')
  const create = { width: 128, height: 128, channels: 3 as const, background: '#ff0000' }
  const url = `data:image/png;base64,${(await sharp({ create }).png().toBuffer()).toString('base64')}`
  const text = 'Which color is this picture? One word.'
  return [
    {
      role: 'user',
      content: [
        { type: 'text', text },
        { type: 'image_url', image_url: { url } },
      ],
    },
  ]
}

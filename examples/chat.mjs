// A stream, then a function call by the model. Set KINORA_BASE_URL and KINORA_API_KEY. Needs the package `openai`.
import OpenAI from 'openai'

const client = new OpenAI({ apiKey: process.env.KINORA_API_KEY, baseURL: `${process.env.KINORA_BASE_URL}/v1` })
const model = 'sandbox-1'

const messages = [{ role: 'user', content: 'Say hello to Paris.' }]
const stream = await client.chat.completions.create({ model, messages, stream: true })
for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta.content ?? '')

const getWeather = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'The weather of a city.',
    parameters: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
    parse: JSON.parse,
    function: ({ city }) => ({ city, celsius: 21 }),
  },
}
const question = [{ role: 'user', content: 'Use get_weather: how warm is it in Paris?' }]
const runner = client.chat.completions.runTools({ model, messages: question, tools: [getWeather] })
console.log(`\n\n${await runner.finalContent()}`)

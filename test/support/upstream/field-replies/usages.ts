import { chunk } from '../chat-upstream.ts'
import { BILLED, end, type FieldReply, last, PAGE, READS_ITSELF, stream, text, USAGE } from './frames.ts'

const COUNTS = { prompt_tokens: 10, completion_tokens: 20 }

/** Where servers put the usage, and in which form. */
export const USAGES: Readonly<Record<string, FieldReply>> = {
  'zeros beside a page of text': {
    reply: stream([text(PAGE), end('stop'), last({ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 })]),
    text: PAGE,
    usage: null,
  },
  'no output beside a page of text': {
    reply: stream([text(PAGE), end('stop'), last({ prompt_tokens: 9, completion_tokens: 0, total_tokens: 9 })]),
    text: PAGE,
    usage: null,
  },
  'a good usage and then zeros': {
    reply: stream([text('Hi', 'stop'), last(), last({ prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 })]),
    text: 'Hi',
    package: 'the package takes the last usage',
  },
  'reasoning billed beside the completion, with its count': {
    reply: stream([
      text('Hi', 'stop'),
      last({
        prompt_tokens: 32,
        completion_tokens: 9,
        total_tokens: 142,
        completion_tokens_details: { reasoning_tokens: 101 },
      }),
    ]),
    text: 'Hi',
    usage: { input: 32, output: 110, reasoning: 101 },
  },
  'reasoning billed beside the completion, in the total alone': {
    reply: stream([
      chunk({ reasoning_content: 'Hm.' }),
      text('Hi', 'stop'),
      last({ prompt_tokens: 32, completion_tokens: 9, total_tokens: 142 }),
    ]),
    text: 'Hi',
    reasoning: 'Hm.',
    usage: { input: 32, output: 110, reasoning: 101 },
  },
  'the cache billed beside the prompt': {
    reply: stream([
      text('Hi', 'stop'),
      last({ prompt_tokens: 10, completion_tokens: 5, total_tokens: 115, cache_read_input_tokens: 100 }),
    ]),
    text: 'Hi',
    usage: { input: 110, output: 5, cached: 100 },
  },
  ...beside('cache reads and writes in the total', {
    usage: { ...COUNTS, total_tokens: 6030, cache_read_input_tokens: 1000, cache_creation_input_tokens: 5000 },
    billed: { input: 6010, output: 20, cached: 1000 },
  }),
  ...beside('cache writes alone in the total', {
    usage: { ...COUNTS, total_tokens: 10_566, cache_read_input_tokens: 0, cache_creation_input_tokens: 10_536 },
    billed: { input: 10_546, output: 20 },
  }),
  ...beside('a cache above the prompt', {
    usage: { ...COUNTS, total_tokens: 30, prompt_tokens_details: { cached_tokens: 18_901 } },
    billed: { input: 18_911, output: 20, cached: 18_901 },
  }),
  ...beside('cache writes above the prompt', {
    usage: { ...COUNTS, total_tokens: 30, cache_read_input_tokens: 1000, cache_creation_input_tokens: 5000 },
    billed: { input: 6010, output: 20, cached: 1000 },
  }),
  ...beside("cache writes under Anthropic's names", {
    usage: { input_tokens: 10, output_tokens: 20, cache_creation_input_tokens: 1367 },
    billed: { input: 1377, output: 20 },
    reads: READS_ITSELF,
  }),
  ...beside('reasoning above the completion', {
    usage: { ...COUNTS, total_tokens: 30, reasoning_tokens: 73_248 },
    billed: { input: 10, output: 73_268, reasoning: 73_248 },
  }),
  'the prompt in the first usage, and the completion in the last': {
    reply: stream([
      { ...text('Hi'), usage: { prompt_tokens: 5000, completion_tokens: 1, total_tokens: 5001 } },
      { ...end('stop'), usage: { prompt_tokens: 0, completion_tokens: 20, total_tokens: 20 } },
    ]),
    text: 'Hi',
    usage: { input: 5000, output: 20 },
    package: 'the package takes the last usage',
  },
  'usage after [DONE] in the same read': {
    reply: stream([text('Hi', 'stop'), 'data: [DONE]\n\n', last(), '{"choices"'], { done: false }),
    text: 'Hi',
  },
  'usage in x_groq': {
    reply: stream([text('Hi'), { ...end('stop'), x_groq: { id: 'req_1', usage: USAGE } }]),
    text: 'Hi',
    package: 'the package of Groq reads it',
  },
  'usage in the choice': {
    reply: stream([
      text('Hi'),
      { ...chunk({}), choices: [{ index: 0, delta: {}, finish_reason: 'stop', usage: USAGE }] },
    ]),
    text: 'Hi',
    package: 'the package of Moonshot reads it',
  },
  ...cached('usage.cached_tokens', { cached_tokens: 4 }),
  ...cached('prompt_tokens_details', { prompt_tokens_details: { cached_tokens: 4 } }),
  ...cached('prompt_cache_hit_tokens beside a zero', {
    prompt_tokens_details: { cached_tokens: 0 },
    prompt_cache_hit_tokens: 4,
  }),
  'input_tokens and output_tokens': {
    reply: stream([
      text('Hi', 'stop'),
      last({
        input_tokens: 10,
        output_tokens: 50,
        total_tokens: 60,
        input_tokens_details: { cached_tokens: 4 },
        output_tokens_details: { reasoning_tokens: 7 },
      }),
    ]),
    text: 'Hi',
    usage: { ...BILLED, cached: 4, reasoning: 7 },
    package: READS_ITSELF,
  },
}

/** Tokens that the prompt or the completion does not have. */
function beside(
  name: string,
  { usage, billed, reads }: { usage: object; billed: NonNullable<FieldReply['usage']>; reads?: string },
): Record<string, FieldReply> {
  const reply = stream([text('Hi', 'stop'), last(usage)])
  return { [`${name}, beside its whole`]: { reply, text: 'Hi', usage: billed, ...(reads && { package: reads }) } }
}

function cached(name: string, more: object): Record<string, FieldReply> {
  const reply = stream([text('Hi', 'stop'), last({ ...USAGE, ...more })])
  return { [`cached tokens in ${name}`]: { reply, text: 'Hi', usage: { ...BILLED, cached: 4 } } }
}

import { createHash } from 'node:crypto'
import { countTokens } from '../../../platform/tokenizer.ts'
import { type Prompt, shorten } from './prompt.ts'

const ENGLISH = {
  hello: (variant: number) => `Hello from the sandbox, in wording ${variant}.`,
  quote: (quote: string) => `You wrote: “${quote}”`,
  received: (media: string) => `I received ${media}.`,
  turn: (turns: number) => `This is turn ${turns} of our conversation.`,
  result: (name: string, text: string) => `The tool ${name} returned${text === '' ? ' nothing.' : `: ${text}`}`,
  bodies: [
    'No real model has thought about it, but everything around the answer is genuine.',
    'I do not know the answer, yet your client handled the question well.',
    'My tokens are counted with a real tokenizer, so limits and bills behave as they should.',
    'Change the seed and I will say it in other words.',
  ],
  asked: (quote: string) => `The person says: “${quote}”`,
  thoughts: [
    'First I look at what was actually asked.',
    'Then I check which parts came with the message.',
    'A short and friendly answer seems best.',
    'I must stay within the limit of tokens.',
  ],
  refusal: 'I am sorry, but I cannot help with that. You asked the sandbox to refuse.',
  space: ' ',
}

const JAPANESE: typeof ENGLISH = {
  hello: (variant) => `サンドボックスです（言い回し${variant}）。`,
  quote: (quote) => `「${quote}」とのことですね。`,
  received: (media) => `${media}を受け取りました。`,
  turn: (turns) => `会話の${turns}回目です。`,
  result: (name, text) => `ツール ${name} の結果${text === '' ? 'は空でした' : `は次のとおりです：${text}`}。`,
  bodies: [
    '本物のモデルは考えていませんが、回答が届くまでの仕組みはすべて本物です。',
    '答えは分かりませんが、お使いのクライアントは正しく動いています。',
    'トークンは本物のトークナイザーで数えているので、上限や使用量は実際どおりに働きます。',
    'シードを変えると、別の言い方でお答えします。',
  ],
  asked: (quote) => `「${quote}」と言われている。`,
  thoughts: [
    'まず、何を尋ねられているのかを確認する。',
    '次に、メッセージに何が添えられているかを見る。',
    '短く親しみやすい回答がよいだろう。',
    'トークンの上限を守らなければならない。',
  ],
  refusal: '申し訳ありませんが、お手伝いできません。サンドボックスに断るよう指示がありました。',
  space: '',
}

/** Tokens of the answer to `sandbox:long`, at least. */
const LONG_TOKENS = 2000
/** Sentences of reasoning. Unknown efforts are treated as `medium`. */
const SENTENCES: Readonly<Record<string, number>> = { minimal: 1, low: 2, medium: 4, high: 7, xhigh: 10, max: 14 }

/** The text of the answer: the question, its media, the outputs of tools. Every choice of a request is worded differently. */
export function answerText(prompt: Prompt, choice: number): string {
  const { hello, quote, received, turn, result, bodies, space } = phrasesFor(prompt)
  const variant = (createHash('sha256').update(prompt.seed).digest().readUInt16LE() % 9000) + choice
  const excerpt = prompt.clues.excerpt(160)
  const facts = [
    excerpt !== '' && quote(excerpt),
    prompt.media !== null && received(prompt.media),
    prompt.turns > 1 && turn(prompt.turns),
  ]
  const results = prompt.results.slice(0, 5).map(({ name, text }) => result(name, shorten(text, 400)))
  return [hello(variant), ...(results.length > 0 ? results : facts.filter(Boolean)), bodies[variant % 4]!].join(space)
}

/** Numbered paragraphs of at least 2,000 tokens. */
export function longText(prompt: Prompt, choice: number): string {
  const paragraphs = [answerText(prompt, choice)]
  for (let tokens = countTokens(paragraphs[0]!); tokens < LONG_TOKENS; ) {
    const { bodies, thoughts, space } = phrasesFor(prompt)
    const paragraph = `${paragraphs.length}. ${[...bodies, ...thoughts].join(space)}`
    paragraphs.push(paragraph)
    tokens += countTokens(paragraph)
  }
  return paragraphs.join('\n\n')
}

export function refusalText(prompt: Prompt): string {
  return phrasesFor(prompt).refusal
}

/** The reasoning before the answer: the more effort, the longer. */
export function thoughtsText(prompt: Prompt, effort: string): string {
  const { asked, thoughts, space } = phrasesFor(prompt)
  const count = SENTENCES[effort] ?? SENTENCES.medium!
  const sentences = Array.from({ length: count }, (_, i) => thoughts[i % thoughts.length]!)
  return [asked(prompt.clues.excerpt(80)), ...sentences].join(space)
}

function phrasesFor({ clues }: Prompt): typeof ENGLISH {
  return clues.japanese ? JAPANESE : ENGLISH
}

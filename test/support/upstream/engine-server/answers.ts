import type { Reply } from './exchange.ts'

type ChatBody = { messages: Array<{ role: string; content: unknown }> }

/** What the language and moderation models say. Replace a member to script it. */
export type Answers = {
  /** The assistant's text for one chat request. */
  chat(body: ChatBody): string
  /** The one member of `results` for one moderation request. */
  moderation(body: { input: unknown }): unknown
  /** The words heard in one multipart request. */
  transcription(body: Buffer): string
  /** The English of one text of a machine translator, without its markup. */
  translation(text: string): string
  /** What a machine translator makes of a whole reply with markup, before it is sent. */
  translatedMarkup(markup: string): string
}

/** Guards find everything safe but text with "forbidden"; a translator says the same in Latin letters. */
export function defaultAnswers(): Answers {
  return {
    chat(body) {
      const text = textOf(body)
      const system = body.messages.find(({ role }) => role === 'system')?.content
      if (typeof system === 'string' && system.includes('Translate')) {
        return JSON.stringify({ translation: inLatinLetters(text), depicted_text: [] })
      }
      return text.includes('forbidden') ? 'unsafe\nS1' : 'safe'
    },
    moderation(body) {
      const flagged = JSON.stringify(body.input).includes('forbidden')
      return {
        flagged,
        categories: { violence: flagged, sexual: false },
        category_scores: { violence: flagged ? 0.9 : 0.01, sexual: 0 },
        category_applied_input_types: { violence: ['text', 'image'] },
      }
    },
    transcription: () => 'a quiet song',
    translation: inLatinLetters,
    translatedMarkup: (markup) => markup,
  }
}

export function answerChat(answers: Answers, json: unknown): Reply {
  const message = { role: 'assistant', content: answers.chat(json as ChatBody) }
  return jsonReply({
    id: 'chatcmpl-1',
    object: 'chat.completion',
    choices: [{ index: 0, message, finish_reason: 'stop' }],
  })
}

export function answerModerations(answers: Answers, json: unknown): Reply {
  return jsonReply({
    id: 'modr-1',
    model: 'omni-moderation-latest',
    results: [answers.moderation(json as { input: unknown })],
  })
}

export function answerTranscription(answers: Answers, body: Buffer): Reply {
  return jsonReply({ text: answers.transcription(body) })
}

const JAPANESE = /[\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Han}ー、。]+/gu

function inLatinLetters(text: string): string {
  return text.replace(JAPANESE, 'scene ')
}

function textOf(body: ChatBody): string {
  const content = body.messages.findLast(({ role }) => role === 'user')?.content
  if (typeof content === 'string') return content
  return Array.isArray(content) ? content.map((part: { text?: string }) => part.text ?? '').join(' ') : ''
}

function jsonReply(value: unknown): Reply {
  return { status: 200, headers: { 'content-type': 'application/json' }, body: Buffer.from(JSON.stringify(value)) }
}

import { readablePrompt } from '../draft/prompt.ts'

/** A prompt as WebVTT captions, each shown for a time in proportion to its length. */
export function captionsOf(prompt: string, seconds: number): string {
  const pieces = piecesOf(prompt)
  const total = pieces.reduce((sum, piece) => sum + piece.length, 0)
  let passed = 0
  const cues = pieces.map((piece) => {
    const from = (passed / total) * seconds
    passed += piece.length
    return `${stamp(from)} --> ${stamp((passed / total) * seconds)}\n${escaped(piece)}`
  })
  return ['WEBVTT', ...cues].join('\n\n')
}

/** Most characters of one caption. */
const PIECE_MAX = 90

/** Sentences, joined while they are short and split where they are long. Dialogue tags become quotation marks. */
function piecesOf(prompt: string): string[] {
  const text = readablePrompt(prompt).replaceAll(/\s+/g, ' ').trim()
  const sentences = text.match(/[^.!?。！？]+[.!?。！？]*["”」]?\s*/g) ?? [text]
  const pieces: string[] = []
  for (const sentence of sentences.flatMap(cut)) {
    const last = pieces.at(-1)
    if (last !== undefined && last.length + sentence.length <= PIECE_MAX) pieces[pieces.length - 1] = last + sentence
    else pieces.push(sentence)
  }
  return pieces.map((piece) => piece.trim()).filter((piece) => piece !== '')
}

function cut(sentence: string): string[] {
  const characters = [...sentence]
  const pieces: string[] = []
  while (characters.length > PIECE_MAX) {
    const space = characters.lastIndexOf(' ', PIECE_MAX)
    pieces.push(characters.splice(0, space > PIECE_MAX / 2 ? space + 1 : PIECE_MAX).join(''))
  }
  return [...pieces, characters.join('')]
}

function stamp(seconds: number): string {
  return new Date(Math.round(seconds * 1000)).toISOString().slice(11, 23)
}

/** Escapes WebVTT markup and the arrow between times. */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

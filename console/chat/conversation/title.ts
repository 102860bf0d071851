const TITLE_MAX = 80
/** Of the text: many times what a title has, so that marks which are taken out are made up for. */
const READ_MAX = 1000

/** The beginning of a message in one line, without the marks of Markdown. */
export function titleOf(text: string): string {
  const line = withoutMarks(text.trimStart().slice(0, READ_MAX)).trim().replace(/\s+/g, ' ')
  const characters = [...line]
  if (characters.length <= TITLE_MAX) return line
  return `${characters
    .slice(0, TITLE_MAX - 1)
    .join('')
    .trimEnd()}…`
}

/**
 * Takes out the marks of headings, quotes, code, links and emphasis. Stars within a word or beside a space are not such marks, nor are
 * underscores: names in code have them.
 */
function withoutMarks(text: string): string {
  return text
    .replace(/^ {0,3}(?:```|~~~).*$/gm, '')
    .replace(/^ {0,3}(?:#{1,6}|>|[-*+])[ \t]+/gm, '')
    .replace(/`+([^`\n]+)`+/g, '$1')
    .replace(/(?<![\w)\]])!?\[([^[\]\n]*)\]\([^()\s]*\)/g, '$1')
    .replace(/(?<![\w*])(\*{1,3})(?![\s*])([^*\n]+)(?<!\s)\1(?![\w*])/g, '$2')
    .replace(/~~([^~\n]+)~~/g, '$1')
}

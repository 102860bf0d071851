import { measured } from './costs.ts'

const COUNTS = ['1 process', '2 processes', '4 processes'] as const
const LAYOUTS = ['each with 0.2 of a core', 'on all cores'] as const

/** The table of `docs/scale.md` about one, two and four HTTP processes, as Markdown. */
export function processTable(): string {
  const rows = LAYOUTS.flatMap((layout) => {
    const cells = (of: string, text: (figure: number, first: number) => string) => {
      const figures = COUNTS.map((count) => measured(`Chat, plain answer, ${count}, ${layout}${of}`).figure)
      return figures.map((figure) => text(figure, figures[0]!)).join(' | ')
    }
    const rate = (figure: number, first: number) =>
      `${Math.round(figure).toLocaleString('en-US')}${figure === first ? '' : `, ${(figure / first).toFixed(2)} ×`}`
    const whole = (figure: number) => figure.toFixed(0)
    return [
      `| Answers a second, ${layout} | ${cells('', rate)} |`,
      `| HTTP processes, µs CPU an answer | ${cells(', HTTP processes', whole)} |`,
      `| PostgreSQL, µs CPU an answer | ${cells(', PostgreSQL', whole)} |`,
      `| Cores idle, % | ${cells(', cores idle', whole)} |`,
    ]
  })
  return [`| | ${COUNTS.join(' | ')} |`, '|---|---|---|---|', ...rows].join('\n')
}

if (import.meta.main) console.log(processTable())

import { formatSeconds } from './units.ts'

/** Shows how a job moves. `done` ends the last line. */
export type Progress = {
  show(status: string, percent: number): void
  done(): void
}

const BAR_CELLS = 24
const REDRAW_MS = 100
const SPINNER = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']

/** Where progress is written: a terminal or anything else. */
export type Screen = { isTTY?: boolean; columns?: number; write(text: string): unknown }

/** On a terminal one moving line for the present status and one settled line for each before it; plain lines elsewhere. */
export function openProgress(screen: Screen, env: NodeJS.ProcessEnv = process.env): Progress {
  return screen.isTTY && env.TERM !== 'dumb'
    ? movingProgress(screen, env.NO_COLOR === undefined)
    : plainProgress(screen)
}

function movingProgress(screen: Screen, colors: boolean): Progress {
  const paint = (code: number, text: string) => (colors ? `\x1b[${code}m${text}\x1b[0m` : text)
  let present: { status: string; percent: number; since: number } | null = null
  let turn = 0
  let timer: NodeJS.Timeout | null = null
  const line = (text: string, end: string) => screen.write(`\r\x1b[2K${text}${end}`)
  const draw = () => {
    if (!present) return
    const { status, percent, since } = present
    const bar = status === 'in_progress' ? `  ${barOf(percent)} ${String(percent).padStart(3)} %` : ''
    const mark = paint(36, SPINNER[turn++ % SPINNER.length]!)
    line(`  ${mark} ${status.padEnd(12)}${bar}  ${secondsSince(since)}`, '')
  }
  const settle = (time: boolean) => {
    if (present) {
      const { status, since } = present
      const mark = paint(endedBadly(status) ? 31 : 32, endedBadly(status) ? '✗' : '✓')
      line(`  ${mark} ${time ? `${status.padEnd(12)}  ${secondsSince(since)}` : status}`, '\n')
    }
    present = null
  }
  return {
    show(status, percent) {
      if (present?.status !== status) {
        settle(true)
        present = { status, percent, since: performance.now() }
      }
      present!.percent = percent
      timer ??= setInterval(draw, REDRAW_MS)
      draw()
    },
    done() {
      if (timer) clearInterval(timer)
      settle(false)
    },
  }
}

function plainProgress(screen: Screen): Progress {
  let last = ''
  return {
    show(status, percent) {
      const tens = Math.floor(percent / 10) * 10
      const line = status === 'in_progress' ? `${status} ${tens} %` : status
      if (line !== last) screen.write(`  ${line}\n`)
      last = line
    },
    done() {},
  }
}

function barOf(percent: number): string {
  const full = Math.round((Math.min(100, Math.max(0, percent)) / 100) * BAR_CELLS)
  return '█'.repeat(full) + '░'.repeat(BAR_CELLS - full)
}

function secondsSince(since: number): string {
  return formatSeconds((performance.now() - since) / 1000)
}

function endedBadly(status: string): boolean {
  return status === 'failed' || status === 'canceled'
}

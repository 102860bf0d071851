/** One curve over time. `points`: seconds and value, in order of time. */
export type Panel = { title: string; unit: string; points: ReadonlyArray<readonly [seconds: number, value: number]> }

const WIDTH = 900
const PANEL_HEIGHT = 180
const MARGIN = { top: 72, right: 24, bottom: 40, left: 84, between: 48 }
const STYLE = 'text{font:13px sans-serif;fill:#333}.grid{stroke:#ddd}.curve{fill:none;stroke:#2563eb;stroke-width:1.5}'

/** An SVG of panels below each other over the same time. Every value axis begins at zero, so that a flat curve looks flat. */
export function chartOf(title: string, panels: readonly Panel[]): string {
  const seconds = Math.max(1, ...panels.flatMap(({ points }) => points.map(([at]) => at)))
  const height = MARGIN.top + panels.length * (PANEL_HEIGHT + MARGIN.between) + MARGIN.bottom - MARGIN.between
  const x = scaleOf(seconds, MARGIN.left, WIDTH - MARGIN.right)
  const drawn = panels.map((panel, i) =>
    panelOf(panel, { x, seconds, top: MARGIN.top + i * (PANEL_HEIGHT + MARGIN.between) }),
  )
  const times = timesOf(seconds).map(([at, text]) => label(x(at), height - 12, text, 'middle'))
  const size = `width="${WIDTH}" height="${height}" viewBox="0 0 ${WIDTH} ${height}"`
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" ${size} role="img"><title>${escapeXml(title)}</title><style>${STYLE}</style>`,
    `<rect width="${WIDTH}" height="${height}" fill="#fff"/>`,
    label(MARGIN.left, 24, title, 'start'),
    ...drawn,
    ...times,
    '</svg>\n',
  ].join('\n')
}

type Scale = (value: number) => number

function panelOf(
  { title, unit, points }: Panel,
  { x, seconds, top }: { x: Scale; seconds: number; top: number },
): string {
  const bottom = top + PANEL_HEIGHT
  const ticks = ticksOf(Math.max(1, ...points.map(([, value]) => value)))
  const y = scaleOf(ticks.at(-1)!, bottom, top)
  const grid = ticks.flatMap((value) => [
    `<path class="grid" d="M${x(0)} ${y(value)}H${x(seconds)}"/>`,
    label(MARGIN.left - 8, y(value) + 4, String(value), 'end'),
  ])
  const curve = points.map(([at, value]) => `${x(at)},${y(value)}`).join(' ')
  return [
    label(MARGIN.left, top - 10, `${title}, ${unit}`, 'start'),
    ...grid,
    `<polyline class="curve" points="${curve}"/>`,
  ].join('\n')
}

/** Round values from zero to at least `max`: four to ten steps of 1, 2, 5 or a power of ten of these. */
export function ticksOf(max: number): number[] {
  const rough = max / 4
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = [5, 2, 1].map((factor) => factor * power).find((each) => each <= rough)!
  return Array.from({ length: Math.ceil(max / step) + 1 }, (_, i) => Number((i * step).toPrecision(6)))
}

/** Of values from zero to `max`, to a tenth of a pixel. */
function scaleOf(max: number, from: number, to: number): Scale {
  return (value) => Math.round((from + (value / max) * (to - from)) * 10) / 10
}

function timesOf(seconds: number): Array<[at: number, text: string]> {
  const [length, unit] = seconds < 300 ? [1, 's'] : [60, 'min']
  const ticks = ticksOf(seconds / length).filter((tick) => tick * length <= seconds)
  return ticks.map((tick) => [tick * length, `${tick} ${unit}`])
}

function label(x: number, y: number, text: string, anchor: 'start' | 'middle' | 'end'): string {
  return `<text x="${x}" y="${y}" text-anchor="${anchor}">${escapeXml(text)}</text>`
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}

import { type ScaleBand, type ScaleLinear, scaleBand, scaleLinear } from 'd3-scale'
import { type PointerEvent, type ReactNode, useEffect, useRef, useState } from 'react'

/** Where values lie in the plot, in pixels: `x` gives the start of a column, `y` the height of a value. */
export type PlotScales = { x: ScaleBand<string>; y: ScaleLinear<number, number> }

type PlotProps = {
  /** What the chart shows, for who does not see it. */
  label: string
  /** One for each step in time, in order, each once; at least one. */
  columns: readonly string[]
  /** The highest value; the axis begins at 0. */
  max: number
  columnLabel: (column: string) => string
  valueLabel: (value: number) => string
  /** The column as a text for screen readers. */
  columnText: (index: number) => string
  /** The same for the eye, beside the pointer. */
  columnDetail: (index: number) => ReactNode
  /** Draws the values: bars, or lines through the middle of each column. */
  children: (scales: PlotScales) => ReactNode
}

const TOP = 8
const BOTTOM = 28
const END = 4
/** Between the labels of two columns, beside the half label by which the last one may be moved. */
const LABEL_GAP = 12
const TICKS = 4

/**
 * A chart over time: axes, grid and a cursor that goes from column to column by pointer, touch or arrow keys. The cursor is a range
 * input, so that keyboards and screen readers know how to move it; each column is spoken by `columnText`.
 */
export function Plot({ label, columns, columnText, columnDetail, ...drawn }: PlotProps) {
  const { ref, width, height } = useSize()
  const [at, setAt] = useState(columns.length - 1)
  const [shown, setShown] = useState(false)
  const index = Math.min(at, columns.length - 1)
  const layout = layoutOf({ ...drawn, columns, width, height })
  const move = (event: PointerEvent<HTMLElement>) => {
    const offset = event.clientX - event.currentTarget.getBoundingClientRect().left - layout.start
    setAt(Math.max(0, Math.min(columns.length - 1, Math.floor(offset / layout.scales.x.step()))))
    setShown(true)
  }
  const middle = layout.scales.x(columns[index] ?? '')! + layout.scales.x.bandwidth() / 2
  return (
    <div
      ref={ref}
      className="relative h-full touch-pan-y"
      onPointerMove={move}
      onPointerDown={move}
      onPointerLeave={() => setShown(false)}
    >
      <input
        type="range"
        aria-label={label}
        aria-valuetext={columnText(index)}
        min={0}
        max={columns.length - 1}
        value={index}
        onChange={(event) => {
          setAt(event.currentTarget.valueAsNumber)
          setShown(true)
        }}
        onFocus={() => setShown(true)}
        onBlur={() => setShown(false)}
        className="peer pointer-events-none absolute inset-0 opacity-0"
      />
      <svg
        aria-hidden
        width={width}
        height={height}
        className="absolute inset-0 rounded-md outline-offset-4 outline-accent peer-focus-visible:outline-2"
      >
        {width > 0 && <Drawing {...drawn} {...layout} columns={columns} cursor={shown ? columns[index]! : null} />}
      </svg>
      {shown && (
        <div
          aria-hidden
          className="pointer-events-none absolute top-2 z-10 max-w-[70%] rounded-lg border border-line bg-raised px-3 py-2 text-[0.8125rem] shadow-float"
          style={middle < width / 2 ? { left: middle + 16 } : { right: width - middle + 16 }}
        >
          {columnDetail(index)}
        </div>
      )}
    </div>
  )
}

type Layout = { start: number; end: number; floor: number; ticks: number[]; scales: PlotScales }

function layoutOf(plot: Pick<PlotProps, 'columns' | 'max' | 'valueLabel'> & { width: number; height: number }): Layout {
  const { columns, max, valueLabel, width, height } = plot
  const floor = Math.max(TOP + 1, height - BOTTOM)
  const y = scaleLinear([0, max > 0 ? max : 1], [floor, TOP]).nice(TICKS)
  const ticks = y.ticks(TICKS)
  const start = widthOf(ticks.map(valueLabel)) + 8
  const end = Math.max(start + 1, width - END)
  return { start, end, floor, ticks, scales: { x: scaleBand(columns, [start, end]).paddingInner(0.25), y } }
}

type DrawingProps = Layout & { cursor: string | null } & Pick<
    PlotProps,
    'columns' | 'columnLabel' | 'valueLabel' | 'children'
  >

function Drawing({
  start,
  end,
  floor,
  ticks,
  scales,
  cursor,
  columns,
  columnLabel,
  valueLabel,
  children,
}: DrawingProps) {
  const { x, y } = scales
  const labels = columns.map(columnLabel)
  const widest = widthOf(labels)
  const every = Math.max(1, Math.ceil((widest * 1.5 + LABEL_GAP) / x.step()))
  return (
    <>
      {ticks.map((tick) => (
        <g key={tick} transform={`translate(0 ${y(tick)})`}>
          <line x1={start} x2={end} className="stroke-line" />
          <text x={start - 8} dy="0.32em" textAnchor="end" className="fill-muted text-xs tabular-nums">
            {valueLabel(tick)}
          </text>
        </g>
      ))}
      {cursor !== null && (
        <rect
          x={x(cursor)! - (x.step() - x.bandwidth()) / 2}
          width={x.step()}
          y={TOP}
          height={floor - TOP}
          className="fill-hover"
        />
      )}
      {children(scales)}
      {columns.map((column, i) => {
        const middle = x(column)! + x.bandwidth() / 2
        if ((columns.length - 1 - i) % every !== 0 || middle - widest / 2 < 0) return null
        const last = middle + widest / 2 > end + END
        return (
          <text
            key={column}
            x={last ? end + END : middle}
            y={floor + 20}
            textAnchor={last ? 'end' : 'middle'}
            className="fill-muted text-xs"
          >
            {labels[i]}
          </text>
        )
      })}
    </>
  )
}

/** Room for the longest of these at 12 pixels: characters of Japanese are as wide as high, others never wider than 7.5 pixels. */
function widthOf(labels: string[]): number {
  const widths = labels.map((label) => [...label].reduce((sum, each) => sum + (each > '\u2e80' ? 12 : 7.5), 0))
  return Math.max(...widths)
}

/** The size of an element in pixels, as it changes; zero until it is known. */
function useSize() {
  const ref = useRef<HTMLDivElement>(null)
  const [size, setSize] = useState({ width: 0, height: 0 })
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => {
      const { width, height } = entry!.contentRect
      setSize({ width, height })
    })
    observer.observe(ref.current!)
    return () => observer.disconnect()
  }, [])
  return { ref, ...size }
}

import { defaultRangeExtractor, type Range, useWindowVirtualizer } from '@tanstack/react-virtual'
import { type ReactNode, useEffect, useLayoutEffect, useRef, useState } from 'react'
import { cx } from '../class-names.ts'

type VirtualListProps<T> = {
  items: readonly T[]
  keyOf: (item: T) => string
  /** First guess of a row's height in pixels; rows are measured once they are shown. */
  pixelsOf: (item: T) => number
  /** The last heading above the visible rows stays in sight. */
  isHeading: (item: T) => boolean
  children: (item: T) => ReactNode
  /** Called when the end comes near. */
  onEnd?: () => void
  label: string
}

/** A long list that scrolls with the page and renders only the visible rows. */
export function VirtualList<T>(props: VirtualListProps<T>) {
  const { items, keyOf, pixelsOf, isHeading, children, onEnd, label } = props
  const list = useRef<HTMLUListElement>(null)
  const [top, setTop] = useState(0)
  const stuck = useRef(-1)
  // At each render, since what is above the list may grow. An equal value renders nothing.
  useLayoutEffect(() => setTop(list.current?.offsetTop ?? 0))
  const virtual = useWindowVirtualizer({
    count: items.length,
    estimateSize: (index) => pixelsOf(items[index]!),
    getItemKey: (index) => keyOf(items[index]!),
    overscan: 3,
    scrollMargin: top,
    rangeExtractor: (range: Range) => {
      stuck.current = items.findLastIndex((item, index) => index <= range.startIndex && isHeading(item))
      const shown = defaultRangeExtractor(range)
      return stuck.current < 0 || shown.includes(stuck.current) ? shown : [stuck.current, ...shown]
    },
  })
  const shown = virtual.getVirtualItems()
  const last = shown.at(-1)?.index ?? -1
  useEffect(() => {
    if (items.length > 0 && last >= items.length - 3) onEnd?.()
  }, [last, items.length, onEnd])
  return (
    <ul ref={list} aria-label={label} className="relative scroll-mt-16" style={{ height: virtual.getTotalSize() }}>
      {shown.map(({ key, index, start }) => (
        <li
          key={key}
          aria-setsize={items.length}
          aria-posinset={index + 1}
          data-index={index}
          ref={virtual.measureElement}
          className={cx(index === stuck.current ? 'sticky top-13 z-10 lg:top-0' : 'absolute inset-x-0 top-0')}
          style={index === stuck.current ? {} : { transform: `translateY(${start - top}px)` }}
        >
          {children(items[index]!)}
        </li>
      ))}
    </ul>
  )
}

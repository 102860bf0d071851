import { useWindowVirtualizer } from '@tanstack/react-virtual'
import { type ReactNode, useEffect, useLayoutEffect, useRef, useState } from 'react'

type VirtualListProps<T> = {
  items: readonly T[]
  keyOf: (item: T) => string
  /** First guess of a row's height in pixels; rows are measured once they are shown. */
  row_pixels: number
  children: (item: T) => ReactNode
  /** Called when the end comes near. */
  onEnd?: () => void
  label: string
}

/** A long list that scrolls with the page and renders only the visible rows. */
export function VirtualList<T>({ items, keyOf, row_pixels, children, onEnd, label }: VirtualListProps<T>) {
  const list = useRef<HTMLUListElement>(null)
  const [top, setTop] = useState(0)
  useLayoutEffect(() => setTop(list.current?.offsetTop ?? 0), [])
  const virtual = useWindowVirtualizer({
    count: items.length,
    estimateSize: () => row_pixels,
    getItemKey: (index) => keyOf(items[index]!),
    overscan: 3,
    scrollMargin: top,
  })
  const shown = virtual.getVirtualItems()
  const last = shown.at(-1)?.index ?? -1
  useEffect(() => {
    if (items.length > 0 && last >= items.length - 3) onEnd?.()
  }, [last, items.length, onEnd])
  return (
    <ul ref={list} aria-label={label} className="relative" style={{ height: virtual.getTotalSize() }}>
      {shown.map(({ key, index, start }) => (
        <li
          key={key}
          aria-setsize={items.length}
          aria-posinset={index + 1}
          data-index={index}
          ref={virtual.measureElement}
          className="absolute inset-x-0 top-0"
          style={{ transform: `translateY(${start - top}px)` }}
        >
          {children(items[index]!)}
        </li>
      ))}
    </ul>
  )
}

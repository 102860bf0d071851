import { Slot } from 'radix-ui'
import { type ReactNode, type Ref, useEffect } from 'react'

type Props = { children?: ReactNode; as?: unknown; enabled?: boolean; ref?: Ref<HTMLElement>; className?: string }

let locks = 0

/**
 * Stands in for the package `react-remove-scroll`, which writes style elements at run time: the content security policy refuses
 * those. While one is mounted the page behind does not scroll (`html[data-locked]` in styles.css).
 */
export function RemoveScroll({ children, as: _as, enabled = true, ...rest }: Props) {
  useEffect(() => {
    if (!enabled) return
    locks += 1
    document.documentElement.dataset.locked = ''
    return () => {
      locks -= 1
      if (locks === 0) delete document.documentElement.dataset.locked
    }
  }, [enabled])
  const passed = rest as Record<string, unknown>
  delete passed.allowPinchZoom
  delete passed.shards
  return <Slot.Root {...passed}>{children}</Slot.Root>
}

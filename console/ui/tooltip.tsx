import { Tooltip as Radix } from 'radix-ui'
import type { ReactElement } from 'react'

/** Says in words what a control is; shown on hover and on keyboard focus. Needs `<TooltipProvider>` above. */
export function Tooltip({
  text,
  children,
  side = 'bottom',
}: {
  text: string
  children: ReactElement
  side?: Radix.TooltipContentProps['side']
}) {
  return (
    <Radix.Root>
      <Radix.Trigger asChild>{children}</Radix.Trigger>
      <Radix.Portal>
        <Radix.Content
          side={side}
          sideOffset={6}
          collisionPadding={8}
          className="z-60 max-w-72 animate-appear rounded-md bg-ink px-2 forced-colors:border py-1 text-xs text-canvas shadow-float"
        >
          {text}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  )
}

export const TooltipProvider = Radix.Provider

import { Check } from 'lucide-react'
import { DropdownMenu as Radix } from 'radix-ui'
import type { ReactElement, ReactNode } from 'react'
import { cx } from '../class-names.ts'
import { focusTitle } from '../title-focus.ts'

export type MenuItem =
  | {
      label: ReactNode
      icon?: ReactNode
      onSelect: () => void
      danger?: boolean
      disabled?: boolean
      checked?: boolean
      /** Of a disabled item: why it is, below its label. */
      hint?: ReactNode
    }
  | { href: string; label: ReactNode; icon?: ReactNode; external?: boolean; download?: boolean }
  | { heading: ReactNode }
  | 'line'

/** Actions behind one button. `trigger` is that button; it takes a ref and props. */
export function Menu({
  trigger,
  items,
  align = 'end',
  width = 'min-w-48',
}: {
  trigger: ReactElement
  items: MenuItem[]
  align?: 'start' | 'end'
  width?: string
}) {
  return (
    <Radix.Root modal={false}>
      <Radix.Trigger asChild>{trigger}</Radix.Trigger>
      <Radix.Portal>
        <Radix.Content
          align={align}
          sideOffset={6}
          collisionPadding={8}
          onCloseAutoFocus={keepFocus}
          className={cx(
            'z-50 max-h-(--radix-dropdown-menu-content-available-height) max-w-80 animate-rise overflow-y-auto rounded-xl border border-line bg-raised p-1 shadow-float',
            width,
          )}
        >
          {items.map((item, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the items of a menu have no other name.
            <Item key={index} item={item} />
          ))}
        </Radix.Content>
      </Radix.Portal>
    </Radix.Root>
  )
}

/** An item may have removed what the menu belongs to, with its trigger. */
function keepFocus(event: Event): void {
  const trigger = (event.currentTarget as Element).getAttribute('aria-labelledby')
  if (trigger !== null && document.getElementById(trigger)) return
  event.preventDefault()
  focusTitle()
}

const ITEM =
  'flex min-h-8 cursor-pointer items-center gap-2.5 rounded-lg px-2.5 py-1.5 text-sm outline-none select-none data-[disabled]:cursor-not-allowed data-[disabled]:opacity-50 data-[highlighted]:bg-hover pointer-coarse:min-h-11 [&_svg]:size-4 [&_svg]:shrink-0 [&_svg]:text-muted'

function Item({ item }: { item: MenuItem }) {
  if (item === 'line') return <Radix.Separator className="my-1 h-px bg-line" />
  if ('heading' in item)
    return <Radix.Label className="px-2.5 pt-2 pb-1 text-xs text-muted">{item.heading}</Radix.Label>
  if ('href' in item) {
    const { href, label, icon, external, download } = item
    return (
      <Radix.Item asChild className={ITEM}>
        <a href={href} download={download} {...(external && { target: '_blank', rel: 'noreferrer' })}>
          {icon}
          <span className="min-w-0 grow [overflow-wrap:anywhere]">{label}</span>
        </a>
      </Radix.Item>
    )
  }
  const { label, icon, onSelect, danger, disabled, checked, hint } = item
  return (
    <Radix.Item
      disabled={disabled && !hint}
      {...(disabled && { 'aria-disabled': true })}
      onSelect={disabled ? (event) => event.preventDefault() : onSelect}
      {...(checked !== undefined && { role: 'menuitemradio', 'aria-checked': checked })}
      className={cx(ITEM, disabled ? 'cursor-not-allowed text-muted' : danger && 'text-danger [&_svg]:text-danger!')}
    >
      {icon}
      <span className="min-w-0 grow [overflow-wrap:anywhere]">
        {label}
        {disabled && hint && <span className="block text-xs">{hint}</span>}
      </span>
      {!disabled && hint && <span className="text-xs text-muted">{hint}</span>}
      {checked && <Check />}
    </Radix.Item>
  )
}

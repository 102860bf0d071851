import { Tabs as Radix } from 'radix-ui'
import type { ReactNode } from 'react'
import { cx } from '../class-names.ts'

type TabsProps<V extends string> = {
  value: V
  onChange: (value: V) => void
  tabs: ReadonlyArray<{ value: V; label: ReactNode; panel: ReactNode }>
  label: string
}

/** Several views of one thing, one at a time. */
export function Tabs<V extends string>({ value, onChange, tabs, label }: TabsProps<V>) {
  return (
    <Radix.Root value={value} onValueChange={(next) => onChange(next as V)}>
      <Radix.List
        aria-label={label}
        className="mb-5 flex gap-1 overflow-x-auto border-b border-line [scrollbar-width:none]"
      >
        {tabs.map((tab) => (
          <Radix.Trigger
            key={tab.value}
            value={tab.value}
            className={cx(
              '-mb-px h-9 border-b-2 border-transparent px-3 text-sm whitespace-nowrap text-muted transition-colors hover:text-ink pointer-coarse:h-11',
              'data-[state=active]:border-accent data-[state=active]:font-medium data-[state=active]:text-ink focus-visible:-outline-offset-2',
            )}
          >
            {tab.label}
          </Radix.Trigger>
        ))}
      </Radix.List>
      {tabs.map((tab) => (
        <Radix.Content key={tab.value} value={tab.value}>
          {tab.panel}
        </Radix.Content>
      ))}
    </Radix.Root>
  )
}

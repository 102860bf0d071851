import { createLink } from '@tanstack/react-router'
import type { AnchorHTMLAttributes, ButtonHTMLAttributes, ReactNode, Ref } from 'react'
import { cx } from './class-names.ts'
import { Tooltip } from './tooltip.tsx'

export type ButtonLook = { variant?: 'primary' | 'secondary' | 'ghost' | 'danger'; size?: 'sm' | 'md' | 'lg' }

const BASE =
  'inline-flex shrink-0 items-center justify-center gap-2 rounded-lg font-medium whitespace-nowrap select-none transition-colors duration-100 disabled:cursor-not-allowed disabled:opacity-55 aria-disabled:cursor-not-allowed aria-disabled:opacity-55 [&_svg]:size-4 [&_svg]:shrink-0'
const VARIANTS = {
  primary: 'forced-colors:border bg-accent text-on-accent hover:not-disabled:bg-accent-hover shadow-raised',
  secondary: 'bg-raised text-ink border border-line-strong hover:not-disabled:bg-hover shadow-raised',
  ghost: 'text-ink hover:not-disabled:bg-hover',
  danger: 'forced-colors:border bg-danger text-on-danger hover:not-disabled:bg-danger-hover shadow-raised',
}
const SIZES = {
  sm: 'h-8 px-2.5 text-[0.8125rem] pointer-coarse:h-10',
  md: 'h-9 px-3.5 text-sm pointer-coarse:h-11',
  lg: 'h-10 px-4 text-sm pointer-coarse:h-12',
}

export function buttonClass({ variant = 'secondary', size = 'md' }: ButtonLook = {}, more?: string): string {
  return cx(BASE, VARIANTS[variant], SIZES[size], more)
}

type ButtonProps = ButtonHTMLAttributes<HTMLButtonElement> &
  ButtonLook & { icon?: ReactNode; busy?: boolean; ref?: Ref<HTMLButtonElement> }

/** Whether the keys that a button names are those of a Mac: ⌘ in place of Ctrl. */
export function isApple(): boolean {
  return /Mac|iPhone|iPad/.test(navigator.platform)
}

/** `busy` keeps the width, shows progress and ignores further clicks. */
export function Button({
  variant,
  size,
  icon,
  busy,
  className,
  children,
  type = 'button',
  onClick,
  ...rest
}: ButtonProps) {
  return (
    <button
      {...rest}
      type={type}
      aria-busy={busy || undefined}
      aria-disabled={busy || rest['aria-disabled']}
      onClick={busy ? (event) => event.preventDefault() : onClick}
      className={buttonClass({ variant, size }, cx(busy && 'animate-breathe', className))}
    >
      {icon}
      {children}
    </button>
  )
}

type IconButtonProps = Omit<ButtonProps, 'children' | 'icon'> & { label: string; icon: ReactNode }

/** A button with only an icon; its label is the tooltip and the accessible name. */
export function IconButton({ label, icon, variant = 'ghost', size = 'md', className, ...rest }: IconButtonProps) {
  const square = { sm: 'w-8 pointer-coarse:w-10', md: 'w-9 pointer-coarse:w-11', lg: 'w-10 pointer-coarse:w-12' }[size]
  return (
    <Tooltip text={label}>
      <Button {...rest} variant={variant} size={size} aria-label={label} className={cx(square, 'px-0!', className)}>
        {icon}
      </Button>
    </Tooltip>
  )
}

type AnchorProps = AnchorHTMLAttributes<HTMLAnchorElement> & { ref?: Ref<HTMLAnchorElement> }

/** A link of the console that looks like a button. */
export const ButtonLink = createLink(
  ({ variant, size, icon, className, children, ...rest }: AnchorProps & ButtonLook & { icon?: ReactNode }) => (
    <a {...rest} className={buttonClass({ variant, size }, className)}>
      {icon}
      {children}
    </a>
  ),
)

const TEXT_LINK = 'text-accent underline decoration-accent/35 underline-offset-3 hover:decoration-accent rounded-sm'

/** A link within a text, to a page of the console. */
export const Link = createLink(({ className, ...rest }: AnchorProps) => (
  <a {...rest} className={cx(TEXT_LINK, className)} />
))

/** A link to another site, or to a page that is not the console's. */
export function ExternalLink({ className, ...rest }: AnchorProps) {
  return <a target="_blank" rel="noreferrer" {...rest} className={cx(TEXT_LINK, className)} />
}

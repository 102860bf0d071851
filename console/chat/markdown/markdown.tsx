import { Fragment, memo, type ReactNode, useRef } from 'react'
import { useText } from '../../text/use-text.ts'
import { ExternalLink } from '../../ui/button.tsx'
import { cx } from '../../ui/class-names.ts'
import { Code, CodeBlock } from '../../ui/data/code.tsx'
import { type Align, type Block, type Blocks, NO_BLOCKS, readBlocks } from './blocks.ts'
import { type Inline, readInline, splitLine } from './inline.ts'

/** Lists and quotes within each other; what is deeper is shown as plain text. */
const DEPTH_MAX = 6

/**
 * Markdown as elements, never as HTML: whatever a model writes, it shows text, and links to the web. While the text grows only what
 * changed is read and drawn again.
 */
export const Markdown = memo(function Markdown({ text, depth = 0 }: { text: string; depth?: number }) {
  const known = useRef<Blocks>(NO_BLOCKS)
  known.current = readBlocks(text, known.current)
  if (depth > DEPTH_MAX) return <p className="whitespace-pre-wrap">{text}</p>
  return (
    <div className="flex min-w-0 flex-col gap-3 [overflow-wrap:anywhere]">{groups(known.current.blocks, depth)}</div>
  )
})

type Item = Extract<Block, { kind: 'item' }>

/** Items that follow each other make one list. */
function groups(blocks: readonly Block[], depth: number): ReactNode[] {
  const shown: ReactNode[] = []
  for (let at = 0; at < blocks.length; ) {
    const block = blocks[at]!
    if (block.kind !== 'item') {
      shown.push(<OneBlock key={at} block={block} depth={depth} />)
      at++
      continue
    }
    let end = at + 1
    while (isOfList(block, blocks[end])) end++
    shown.push(<List key={at} items={blocks.slice(at, end) as Item[]} depth={depth} />)
    at = end
  }
  return shown
}

function isOfList(first: Item, next: Block | undefined): boolean {
  return next?.kind === 'item' && next.ordered === first.ordered
}

function List({ items, depth }: { items: Item[]; depth: number }) {
  const { ordered, number } = items[0]!
  const inside = items.map((item, i) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: the items of a list only ever grow at its end.
    <ListItem key={i} item={item} depth={depth} />
  ))
  const look = 'flex flex-col gap-1.5 ps-6 marker:text-muted'
  if (!ordered) return <ul className={cx(look, 'list-disc')}>{inside}</ul>
  return (
    <ol start={number} className={cx(look, 'list-decimal')}>
      {inside}
    </ol>
  )
}

const ListItem = memo(function ListItem({ item, depth }: { item: Item; depth: number }) {
  return (
    <li className="ps-0.5">
      <Markdown text={item.text} depth={depth + 1} />
    </li>
  )
})

/** The page has its own headings: those of an answer stand below them. */
const HEADINGS = [
  { Tag: 'h3', look: 'text-lg' },
  { Tag: 'h4', look: 'text-base' },
  { Tag: 'h5', look: 'text-[0.9375rem]' },
  ...Array.from({ length: 3 }, () => ({ Tag: 'h6', look: 'text-sm' }) as const),
] as const

const OneBlock = memo(function OneBlock({ block, depth }: { block: Exclude<Block, Item>; depth: number }) {
  const t = useText('chat')
  switch (block.kind) {
    case 'paragraph':
      return (
        <p className="leading-relaxed whitespace-pre-line">
          <Line text={block.text} />
        </p>
      )
    case 'heading': {
      const { Tag, look } = HEADINGS[block.level - 1]!
      return (
        <Tag className={cx('mt-1 font-semibold first:mt-0', look)}>
          <Line text={block.text} />
        </Tag>
      )
    }
    case 'code': {
      const { language, text } = block
      return <CodeBlock code={text} label={language === '' ? t('code_in') : t('code_in_language', { language })} />
    }
    case 'quote':
      return (
        <blockquote className="border-s-2 border-line-strong ps-4 text-muted">
          <Markdown text={block.text} depth={depth + 1} />
        </blockquote>
      )
    case 'table':
      return <Table aligns={block.aligns} rows={block.rows} />
    case 'rule':
      return <hr className="border-line" />
  }
})

const ALIGNS: Record<Align, string> = { start: 'text-start', center: 'text-center', end: 'text-end' }

function Table({ aligns, rows: [head = [], ...rows] }: { aligns: Align[]; rows: string[][] }) {
  const t = useText('chat')
  const cell = 'border-b border-line px-3 py-1.5 align-top'
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by the keyboard.
    <section tabIndex={0} aria-label={t('table')} className="overflow-x-auto rounded-lg border border-line">
      <table className="w-full min-w-max text-[0.8125rem] [&_tr:last-child>td]:border-b-0">
        <thead>
          <tr>
            {head.map((text, i) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: a cell is known by its place alone.
              <th key={i} scope="col" className={cx(cell, 'max-w-80 bg-sunken font-medium', ALIGNS[aligns[i]!])}>
                <Line text={text} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row, i) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows only ever grow at the end.
            <tr key={i}>
              {row.map((text, j) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: a cell is known by its place alone.
                <td key={j} className={cx(cell, 'max-w-80', ALIGNS[aligns[j]!])}>
                  <Line text={text} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}

const Line = memo(function Line({ text }: { text: string }) {
  // biome-ignore lint/suspicious/noArrayIndexKey: parts only ever grow at the end.
  return splitLine(text).map((part, i) => <LinePart key={i} text={part} />)
})

const LinePart = memo(function LinePart({ text }: { text: string }) {
  return pieces(readInline(text))
})

function pieces(inside: Inline[]): ReactNode {
  return inside.map((piece, i) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: a piece of a line is known by its place alone.
    <Fragment key={i}>{onePiece(piece)}</Fragment>
  ))
}

function onePiece(piece: Inline): ReactNode {
  switch (piece.kind) {
    case 'text':
      return piece.text
    case 'code':
      return <Code>{piece.text}</Code>
    case 'strong':
      return <strong className="font-semibold">{pieces(piece.inside)}</strong>
    case 'emphasis':
      return <em>{pieces(piece.inside)}</em>
    case 'struck':
      return <s>{pieces(piece.inside)}</s>
    case 'link':
      return (
        <ExternalLink href={piece.href} rel="noopener noreferrer">
          {pieces(piece.inside)}
        </ExternalLink>
      )
  }
}

import { type PointerEvent, useRef, useState } from 'react'
import { useText } from '../../text/use-text.ts'
import { useFileName } from '../../ui/file-name.ts'
import { readCurrentDraft } from '../draft/draft-store.ts'
import { type NamedSlot, referenceName } from '../draft/prompt.ts'
import { move } from '../draft/uploads.ts'

/** Moves the files of a slot, by pointer of any kind or by button, and says where they are now. */
export function useOrder(slot: NamedSlot) {
  const t = useText('videos')
  const nameOf = useFileName()
  const list = useRef<HTMLOListElement>(null)
  const [dragged, setDragged] = useState<string | null>(null)
  const [moved, setMoved] = useState('')
  const placeOf = (key: string) => readCurrentDraft().files[slot].findIndex((file) => file.key === key)
  const moveTo = (key: string, to: number) => {
    const from = placeOf(key)
    const file = readCurrentDraft().files[slot][from]
    if (!file || to < 0 || to === from || to >= readCurrentDraft().files[slot].length) return
    move(slot, from, to)
    setMoved(t('references.moved', { name: nameOf(file.filename), tag: referenceName(slot, to) }))
  }
  const beginDrag = (key: string, event: PointerEvent) => {
    if (event.button !== 0) return
    event.preventDefault()
    setDragged(key)
    const follow = ({ clientY }: globalThis.PointerEvent) => moveTo(key, placeAt(list.current!, clientY, placeOf(key)))
    const ended = new AbortController()
    const end = () => {
      ended.abort()
      setDragged(null)
    }
    // The element that was pressed moves in the document, which ends a capture of the pointer.
    addEventListener('pointermove', follow, ended)
    for (const type of ['pointerup', 'pointercancel']) addEventListener(type, end, ended)
  }
  return { list, dragged, moved, moveTo, beginDrag }
}

/** The place where what is at `own` belongs while the pointer is at this height: past the middle of its neighbors. */
function placeAt(list: HTMLElement, y: number, own: number): number {
  const middles = [...list.children].map((each) => {
    const { top, height } = each.getBoundingClientRect()
    return top + height / 2
  })
  const above = middles.findIndex((middle, at) => at < own && y < middle)
  const below = middles.findLastIndex((middle, at) => at > own && y > middle)
  return above >= 0 ? above : below >= 0 ? below : own
}

/**
 * Text from a model server comes in pieces that may end between the halves of a surrogate pair. Each piece that leaves here is whole:
 * no store and no client ever meets half a character.
 */
export type WellFormed = { take(piece: string): string; rest(): string }

export function wellFormed(): WellFormed {
  let half = ''
  return {
    take(piece) {
      let text = half === '' ? piece : half + piece
      half = ''
      const last = text.charCodeAt(text.length - 1)
      if (last >= 0xd800 && last <= 0xdbff) {
        half = text.slice(-1)
        text = text.slice(0, -1)
      }
      return text.isWellFormed() ? text : text.toWellFormed()
    },
    rest() {
      const text = half === '' ? '' : '\ufffd'
      half = ''
      return text
    },
  }
}

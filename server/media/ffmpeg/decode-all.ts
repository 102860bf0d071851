/**
 * Options of FFmpeg, before `-i`, with which it decodes every packet of a file, by the container that was inspected: an edit list, and the
 * samples that a codec would have left out, hide nothing from moderation.
 */
export function decodeAll(demuxer: string | null): string[] {
  if (demuxer === null) return []
  const edits = demuxer === 'mov' ? ['-ignore_editlist', '1'] : []
  return ['-f', demuxer, ...edits, '-flags2', '+skip_manual']
}

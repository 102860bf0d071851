/** A small real PDF: pages of the given size in points, each with a red square in its lower left corner on white. */
export function samplePdf(pages = 1, { width = 595, height = 842 } = {}): Buffer {
  const content = '1 0 0 rg 0 0 200 200 re f'
  const kids = Array.from({ length: pages }, (_, i) => `${4 + i} 0 R`).join(' ')
  const page = `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 ${width} ${height}] /Contents 3 0 R >>`
  return pdfOf([
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Kids [${kids}] /Count ${pages} >>`,
    stream('', content),
    ...Array.from({ length: pages }, () => page),
  ])
}

/** A page of 3 kB that takes for ever: `depth` forms, each drawing the next ten times. */
export function endlessPdf(depth = 12): Buffer {
  const box = '/Type /XObject /Subtype /Form /BBox [0 0 600 800]'
  const forms = Array.from({ length: depth }, (_, i) => {
    const next = `${box} /Resources << /XObject << /F ${6 + i} 0 R >> >>`
    return i === depth - 1 ? stream(box, '0 0 600 800 re f') : stream(next, '/F Do '.repeat(10))
  })
  return pdfOf([
    '<< /Type /Catalog /Pages 2 0 R >>',
    '<< /Type /Pages /Kids [3 0 R] /Count 1 >>',
    '<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents 4 0 R /Resources << /XObject << /F 5 0 R >> >> >>',
    stream('', '/F Do'),
    ...forms,
  ])
}

/** A document that opens only with a password nobody gave. */
export function lockedPdf(): Buffer {
  const key = `<${'5a'.repeat(32)}>`
  const encrypt = `<< /Filter /Standard /V 2 /R 3 /Length 128 /P -44 /O ${key} /U ${key} >>`
  const objects = ['<< /Type /Catalog /Pages 2 0 R >>', '<< /Type /Pages /Kids [] /Count 0 >>', encrypt]
  return pdfOf(objects, '/Encrypt 3 0 R /ID [<00> <00>]')
}

function stream(members: string, data: string): string {
  return `<< ${members} /Length ${data.length} >>\nstream\n${data}\nendstream`
}

/** Object 1 is the catalog. */
function pdfOf(objects: readonly string[], trailer = ''): Buffer {
  let text = '%PDF-1.7\n'
  const rows = objects.map((object, i) => {
    const at = text.length
    text += `${i + 1} 0 obj\n${object}\nendobj\n`
    return `${String(at).padStart(10, '0')} 00000 n \n`
  })
  const size = objects.length + 1
  const table = `xref\n0 ${size}\n0000000000 65535 f \n${rows.join('')}`
  return Buffer.from(
    `${text}${table}trailer << /Size ${size} /Root 1 0 R ${trailer} >>\nstartxref\n${text.length}\n%%EOF`,
    'latin1',
  )
}

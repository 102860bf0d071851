import { PDFiumLibrary, type PDFiumPage } from '@hyzyla/pdfium'
import sharp from 'sharp'
import { type LoggedError, serveTask } from '../children/serve.ts'
import { PAGE_EDGE_MAX, PAGE_SCALE_MAX, type PdfTask, PICTURES_BYTES_MAX, PIXELS_MAX } from './render.ts'

if (process.send) serveTask<PdfTask>(renderPages)

/**
 * JPEGs of every page, made in a process of its own, since PDFium reads customers' files. Throws an error whose name is one of the faults of
 * PdfError.
 */
async function renderPages({ bytes, pages_max }: PdfTask): Promise<Uint8Array[]> {
  const library = await PDFiumLibrary.init()
  const document = await library.loadDocument(bytes).catch((error: Error) => {
    throw fault(/password|security/i.test(error.message) ? 'encrypted' : 'unreadable')
  })
  const count = document.getPageCount()
  if (count < 1) throw fault('unreadable')
  if (count > pages_max) throw fault('too_many_pages')
  const pages = Array.from({ length: count }, (_, index) => document.getPage(index))
  const sizes = pixelSizes(pages)
  const pictures: Uint8Array[] = []
  let size_bytes = 0
  for (const [index, page] of pages.entries()) {
    const picture = await renderPage(page, sizes[index]!)
    size_bytes += picture.length
    if (size_bytes > PICTURES_BYTES_MAX) throw fault('too_complex')
    pictures.push(picture)
  }
  return pictures
}

type Size = { width: number; height: number }

/** Pixels of each page: at most twice its points and `PAGE_EDGE_MAX` on the longer side, all shrunk alike when the sum is too much. */
function pixelSizes(pages: readonly PDFiumPage[]): Size[] {
  const sizes = pages.map((page) => {
    const { originalWidth, originalHeight } = page.getOriginalSize()
    const long = Math.max(originalWidth, originalHeight)
    if (!(long > 0)) throw fault('unreadable')
    const scale = Math.min(PAGE_SCALE_MAX, PAGE_EDGE_MAX / long)
    return { width: originalWidth * scale, height: originalHeight * scale }
  })
  const total = sizes.reduce((sum, { width, height }) => sum + width * height, 0)
  const shrink = Math.min(1, Math.sqrt(PIXELS_MAX / total))
  const whole = (edge: number) => Math.max(1, Math.round(edge * shrink))
  return sizes.map(({ width, height }) => ({ width: whole(width), height: whole(height) }))
}

async function renderPage(page: PDFiumPage, size: Size): Promise<Uint8Array> {
  const rendered = await page.render({ ...size, scale: 1, render: 'bitmap', renderFormFields: true })
  const { width, height, data } = rendered
  const jpeg = await sharp(data, { raw: { width, height, channels: 4 } })
    .flatten({ background: '#ffffff' })
    .jpeg({ quality: 80 })
    .toBuffer()
  return new Uint8Array(jpeg)
}

function fault(name: string): LoggedError {
  return Object.assign(new Error(`The document is ${name}.`), { name })
}

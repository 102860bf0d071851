import type { Page } from 'playwright-core'

// The controls of the page on which videos are made.
export const prompt = (page: Page) => page.getByRole('textbox', { name: 'Prompt' })
export const generate = (page: Page) => page.getByRole('button', { name: 'Generate' })
export const mode = (page: Page, name: string) => page.getByRole('radio', { name, exact: true })
export const card = (page: Page, text: string) =>
  page.getByRole('list', { name: /Videos/ }).getByRole('link', { name: text })
export const choose = (
  page: Page,
  place: string,
  files: string | Array<{ name: string; mimeType: string; buffer: Buffer }>,
) => page.getByRole('group', { name: place }).locator('input[type=file]').setInputFiles(files)
/** What waits in this browser for a free slot. */
export const waitingRows = (page: Page) =>
  page.getByRole('region', { name: /waiting to be sent/ }).getByRole('listitem')
/** Submits a prompt that has to wait. */
export const wait = async (page: Page, text: string) => {
  await prompt(page).fill(text)
  await generate(page).click()
  await waitingRows(page).filter({ hasText: text }).waitFor()
}

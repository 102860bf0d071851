import { useText } from '../text/use-text.ts'

/** What the service says of the models it comes with, by the text that says it here. Source: the built-in models of docs/configuration.md. */
const BUILT_IN = {
  'Embedded preview renderer: an animatic of your prompt, frames and references. Not a generative model.': 'storyboard',
  'Embedded test model: deterministic answers for building clients without spending. Not intelligent.': 'sandbox',
} as const

/** The description of a model in the reader's language where the model is built in; an operator's own words as they are. */
export function useModelDescription({ description }: { description: string }): string {
  const t = useText('kit')
  const key = Object.hasOwn(BUILT_IN, description) ? BUILT_IN[description as keyof typeof BUILT_IN] : null
  return key === null ? description : t(`built_in.${key}`)
}

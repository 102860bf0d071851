import { useText } from '../text/use-text.ts'

/** Text keys of the built-in models' descriptions. Source: the built-in models of docs/configuration.md. */
const BUILT_IN = {
  'Embedded preview renderer: an animatic of your prompt, frames and references. Not a generative model.': 'storyboard',
  'Embedded test model: deterministic answers for building clients without spending. Not intelligent.': 'sandbox',
} as const

/** The description of a model: translated for built-in models, as the operator wrote it for others. */
export function useModelDescription({ description }: { description: string }): string {
  const t = useText('kit')
  const key = Object.hasOwn(BUILT_IN, description) ? BUILT_IN[description as keyof typeof BUILT_IN] : null
  return key === null ? description : t(`built_in.${key}`)
}

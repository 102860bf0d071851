import { useText } from '../../text/use-text.ts'
import { useFormat } from '../../ui/data/format.tsx'
import { usePlayground } from '../playground/playground.ts'
import type { Mistake } from '../request/check-json.ts'
import type { SettingProblem } from '../request/read-settings.ts'

/** What is wrong with a JSON text, with the line. */
export function useMistakeText(): (mistake: Mistake) => string {
  const t = useText('chat')
  return ({ line, problem }) => t('problem.at_line', { line, problem: t(`json.${problem}`) })
}

/** What is wrong with a setting; `named` adds its name, for use outside its field. */
export function useProblemText(): (problem: SettingProblem, named?: boolean) => string {
  const t = useText('chat')
  const { number } = useFormat()
  const { model } = usePlayground()
  const mistakeText = useMistakeText()
  const textOf = ({ problem, min, max, mistake }: SettingProblem): string => {
    if (problem === 'json') return mistake ? mistakeText(mistake) : ''
    if (problem === 'tools_unsupported' || problem === 'schemas_unsupported')
      return t(`problem.${problem}`, { model: model.name })
    if (problem === 'out_of_range' && (max === undefined || max === Number.MAX_SAFE_INTEGER))
      return t('problem.too_small', { min: number(min ?? 0) })
    return t(`problem.${problem}`, { min: number(min ?? 0), max: number(max ?? 0) })
  }
  const nameOf = (field: SettingProblem['field']): string => {
    if (field === 'tools') return t('tools')
    if (field === 'schema') return t('schema')
    if (field === 'model' || field === 'system') return t('settings')
    return t(`parameter.${field}`)
  }
  return (problem, named) => {
    const isSentence = problem.problem === 'tools_unsupported' || problem.problem === 'schemas_unsupported'
    return named && !isSentence ? `${nameOf(problem.field)}: ${textOf(problem)}` : textOf(problem)
  }
}

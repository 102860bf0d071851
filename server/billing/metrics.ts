import { declareMetrics, type Metrics } from '../platform/metrics/metrics.ts'
import { asNumber } from '../platform/money.ts'
import type { UsageCharge } from './meter.ts'

export const billingMetrics = declareMetrics((metrics) => ({
  tokens: metrics.counter({
    name: 'kinora_tokens_total',
    help: 'Tokens that were charged. cached_input is part of input, reasoning is part of output.',
    labels: ['model', 'kind'],
  }),
  charged: metrics.counter({
    name: 'kinora_charged_money_total',
    help: 'Money that was charged, in units of the currency.',
    labels: ['kind', 'model', 'currency'],
  }),
}))

/** Counts usages whose charge is on disk. */
export function usageCounter(metrics: Metrics, currency: string): (usage: UsageCharge) => void {
  const { tokens, charged } = billingMetrics(metrics)
  const cellsOf = (model: string) => ({
    input: tokens.of(model, 'input'),
    cached_input: tokens.of(model, 'cached_input'),
    output: tokens.of(model, 'output'),
    reasoning: tokens.of(model, 'reasoning'),
    money: charged.of('tokens', model, currency),
  })
  const models = new Map<string, ReturnType<typeof cellsOf>>()
  return ({ model, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, amount }) => {
    let cells = models.get(model)
    if (cells === undefined) {
      cells = cellsOf(model)
      models.set(model, cells)
    }
    cells.input.add(input_tokens)
    cells.cached_input.add(cached_input_tokens)
    cells.output.add(output_tokens)
    cells.reasoning.add(reasoning_tokens)
    cells.money.add(asNumber(amount))
  }
}

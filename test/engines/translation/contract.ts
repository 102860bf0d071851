import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EngineError } from '../../../server/engines/engine-error.ts'
import type { TranslationEngine } from '../../../server/engines/translation/contract.ts'
import { hasJapanese } from '../../../server/videos/translation/detect-japanese.ts'
import { maskPrompt, withoutPlaceholders } from '../../../server/videos/translation/mask.ts'
import { translatePrompt } from '../../../server/videos/translation/translate.ts'

export type Translator = {
  name: string
  /** A translator that gives up on a silent server within seconds. */
  engine: TranslationEngine
  /** The prompt that makes the far side lose a placeholder in its first answer, after arranging for it. */
  losing(): string
  /** Each arranges for one fault and returns the text that meets it. */
  faults: Record<string, () => string>
  /** Arranges for an answer that never comes, and returns the text that waits for it. */
  silence(): string
  /** Takes back what was arranged and has not happened. */
  reset(): void
}

/** Every prompt is Japanese outside dialogue and quotations. */
const PROMPTS = [
  '猫が歩く。',
  '看板「営業中」の店の前で猫が<d>こんにちは $& ①</d>と言う。',
  '<d>はじめ</d>と猫が言い、<d>おわり</d>',
  '温度は5 < 10 & 20 > 15、"R&B" と \'そうだ\' の看板 &amp; &lt;b&gt; <b>太字</b> を猫が見る。',
  '一行目で猫が走る。\n\n二行目で<d>まだ閉じない\n三行目で犬が眠る。',
  '猫が⟦K0⟧と⟦K7⟧を見る、「甲」と「乙」。',
  `${'猫が<d>はい</d>と言う。'.repeat(60)}終わり。`,
  '海辺の町\u0007を歩く。\ttabulator',
]

/** What every translator has to do, behind the host's masking and verification. */
export function translationEngineContract(setUp: () => Translator): void {
  const { name, engine, losing, faults, silence, reset } = setUp()

  test(`${name}: dialogue, quotations and characters of markup come back byte for byte, and nothing else stays Japanese`, async () => {
    for (const prompt of PROMPTS) {
      const { translated, engine_prompt } = await translatePrompt(engine, prompt, live())
      assert.ok(translated, prompt)
      const before = maskPrompt(prompt)
      for (const segment of before.segments) assert.ok(engine_prompt.includes(segment), `${segment} of ${prompt}`)
      const rest = before.segments.reduce((text, segment) => text.replace(segment, ' '), engine_prompt)
      assert.equal(hasJapanese(rest), false, engine_prompt)
      assert.ok(/\p{Letter}/u.test(withoutPlaceholders(rest)))
    }
  })

  test(`${name}: an answer that lost a placeholder is asked for once more, and the second one counts`, async () => {
    const prompt = losing()
    const { engine_prompt } = await translatePrompt(engine, prompt, live())
    for (const segment of maskPrompt(prompt).segments) assert.ok(engine_prompt.includes(segment), engine_prompt)
    reset()
  })

  test(`${name}: none of ${Object.keys(faults).length} faults is read as a translation, and the next text is translated`, async () => {
    for (const [fault, arrange] of Object.entries(faults)) {
      const answer = await engine.translate({ text: arrange() }, live()).catch((error: unknown) => error)
      assert.ok(answer instanceof EngineError, `${fault} gave ${JSON.stringify(answer)}`)
      assert.ok(['rejected', 'moderation', 'transient', 'permanent'].includes(answer.kind), `${fault}: ${answer.kind}`)
      reset()
      assert.ok((await engine.translate({ text: '猫が歩く' }, live())).translation, fault)
    }
  })

  test(`${name}: an abort ends a translation that is not answered, and one that waits behind it`, async () => {
    const abort = new AbortController()
    const waiting = [silence(), '犬が眠る'].map((text) => engine.translate({ text }, abort.signal))
    const outcomes = Promise.allSettled(waiting)
    setImmediate(() => abort.abort())
    assert.equal((await outcomes)[0]!.status, 'rejected')
    reset()
    assert.ok((await engine.translate({ text: '猫が歩く' }, live())).translation)
  })
}

function live(): AbortSignal {
  return new AbortController().signal
}

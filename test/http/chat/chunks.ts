import assert from 'node:assert/strict'

// biome-ignore lint/suspicious/noExplicitAny: tests look into chunks of many shapes.
type Chunk = any
type Folded = {
  content: string | null
  reasoning: string
  refusal: string
  calls: Array<{ id: string; type: 'function'; function: { name: string; arguments: string } }>
  logprobs: unknown[] | null
  finish_reason: string
}

/** Checks that the events of a stream are in the grammar of contract 9.4, and folds them as a client would. */
export function readChunks(
  events: Chunk[],
  options: { include_usage: boolean },
): { choices: Folded[]; usage: unknown } {
  assert.equal(events.at(-1), '[DONE]')
  const chunks = events.slice(0, -1)
  const usage = options.include_usage ? chunks.pop() : null
  const { id, created, model } = chunks[0]
  const head = { id, object: 'chat.completion.chunk', created, model }
  if (usage) assert.deepEqual({ ...usage, usage: null }, { ...head, choices: [], usage: null })
  const choices: Folded[] = []
  const finished = new Set<number>()
  const opened = new Set<number>()
  for (const { choices: entries, ...rest } of chunks) {
    assert.deepEqual(rest, options.include_usage ? { ...head, usage: null } : head)
    assert.equal(entries.length, 1, 'one choice a chunk')
    const [{ index, delta, logprobs, finish_reason, ...more }] = entries
    assert.deepEqual(more, {})
    assert.ok(!finished.has(index), 'nothing follows the end of a choice')
    if (!choices[index]) {
      choices[index] = {
        content: delta.content,
        reasoning: '',
        refusal: '',
        calls: [],
        logprobs: null,
        finish_reason: '',
      }
      assert.deepEqual(delta, { role: 'assistant', content: delta.content, refusal: null })
      assert.ok(delta.content === '' || delta.content === null)
      assert.deepEqual([logprobs, finish_reason], [null, null])
      opened.add(index)
    } else if (finish_reason !== null) {
      assert.deepEqual([delta, logprobs], [{}, null])
      choices[index].finish_reason = finish_reason
      finished.add(index)
    } else {
      const choice = choices[index]
      // A call that comes first comes after a role without content, anything else after an empty one.
      if (opened.delete(index)) assert.equal(choice.content, delta.tool_calls ? null : '')
      readDelta(choice, delta)
      if (logprobs) choice.logprobs = [...(choice.logprobs ?? []), ...readLogprobs(logprobs)]
    }
  }
  assert.equal(finished.size, choices.length, 'every choice ends')
  return { choices, usage: usage?.usage ?? null }
}

function readDelta(choice: Folded, delta: Chunk): void {
  const [member] = Object.keys(delta)
  switch (member) {
    case 'content':
      assert.deepEqual(delta, { content: delta.content })
      choice.content = (choice.content ?? '') + delta.content
      return
    case 'refusal':
      assert.deepEqual(delta, { refusal: delta.refusal })
      choice.refusal += delta.refusal
      return
    case 'reasoning_content':
      assert.deepEqual(delta, { reasoning_content: delta.reasoning_content, reasoning: delta.reasoning_content })
      choice.reasoning += delta.reasoning
      return
    default:
      assert.deepEqual(Object.keys(delta), ['tool_calls'])
      readCall(choice, delta.tool_calls)
  }
}

/** `id`, `type` and `name` once, with empty arguments; `index` and `function` always. */
function readCall(choice: Folded, [call, ...more]: Chunk[]): void {
  assert.equal(more.length, 0)
  const { index, function: called } = call
  if (index === choice.calls.length) {
    assert.deepEqual(call, { index, id: call.id, type: 'function', function: { name: called.name, arguments: '' } })
    assert.ok(call.id !== '' && called.name !== '')
    choice.calls.push({ id: call.id, type: 'function', function: { ...called } })
    return
  }
  assert.deepEqual(call, { index, function: { arguments: called.arguments } })
  choice.calls[index]!.function.arguments += called.arguments
}

function readLogprobs(logprobs: Chunk): unknown[] {
  assert.deepEqual(logprobs, { content: logprobs.content, refusal: null })
  return logprobs.content
}

/** The members of a plain answer's choice, as `readChunks` gives them. */
export function choiceOf({ message, logprobs, finish_reason }: Chunk): Folded {
  return {
    content: message.content,
    reasoning: message.reasoning ?? '',
    refusal: message.refusal ?? '',
    calls: message.tool_calls ?? [],
    logprobs: logprobs?.content ?? null,
    finish_reason,
  }
}

/** Empty content is null beside calls and refusals in a plain answer, and an empty string in a stream with reasoning. */
export function sameWords(choice: Folded): Folded {
  return { ...choice, content: choice.content ?? '' }
}

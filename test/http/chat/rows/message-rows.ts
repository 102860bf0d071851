export const USER = { role: 'user', content: 'Hi' }
export const call = (id: string) => ({ id, type: 'function', function: { name: 'look', arguments: '{"at":"sky"}' } })
export const asks = (...ids: string[]) => ({ role: 'assistant', content: null, tool_calls: ids.map(call) })
export const toolMessage = (tool_call_id: unknown, content: unknown = 'Blue') => ({
  role: 'tool',
  tool_call_id,
  content,
})
export const text = (words: string) => ({ type: 'text', text: words })

/** What a conversation becomes upstream; `same` where it goes as it came. */
export const TAKEN: ReadonlyArray<[title: string, messages: object[], upstream: object[] | 'same']> = [
  ['text as a string', [{ role: 'system', content: 'Be brief' }, USER], 'same'],
  ['an empty text', [{ role: 'user', content: '' }], 'same'],
  [
    'text parts',
    [
      { role: 'system', content: [text('a'), text('b')] },
      { role: 'user', content: [text('c')] },
    ],
    'same',
  ],
  [
    'empty texts, which are left out beside others',
    [
      { role: 'user', content: [text(''), text('a'), text('')] },
      { ...asks('c1'), content: [text('')] },
      toolMessage('c1', [text('')]),
    ],
    [{ role: 'user', content: [text('a')] }, { ...asks('c1'), content: '' }, toolMessage('c1', '')],
  ],
  [
    'names',
    [
      { role: 'system', content: 'x', name: 'rules' },
      { ...USER, name: 'ann' },
      { role: 'assistant', content: 'y', name: 'bot' },
    ],
    'same',
  ],
  ['only a system message', [{ role: 'system', content: 'Begin' }], 'same'],
  ['an assistant message last, to be continued', [USER, { role: 'assistant', content: 'The sky' }], 'same'],
  [
    'a tool call and its answer',
    [USER, asks('c1'), toolMessage('c1'), { role: 'assistant', content: 'Blue.' }, USER],
    'same',
  ],
  [
    'answers in any order, in parts',
    [USER, asks('c1', 'c2'), toolMessage('c2', [text('Red')]), toolMessage('c1')],
    'same',
  ],
  ['an id of any length', [USER, asks('c'.repeat(5000)), toolMessage('c'.repeat(5000))], 'same'],
  ['a call left unanswered', [USER, asks('c1', 'c2'), toolMessage('c1'), USER], 'same'],
  [
    'null members',
    [
      { ...USER, name: null },
      { role: 'assistant', content: 'y', tool_calls: null, refusal: null },
    ],
    [USER, { role: 'assistant', content: 'y' }],
  ],
  [
    'content absent beside calls',
    [USER, { role: 'assistant', tool_calls: [call('c1')] }, toolMessage('c1')],
    [USER, asks('c1'), toolMessage('c1')],
  ],
  [
    'messages of the assistant that say nothing, which are left out',
    [
      ...[USER, { role: 'assistant', content: null }, { ...USER, content: [text('b')] }],
      ...[{ role: 'assistant', content: [], tool_calls: [] }, { ...USER, name: 'ann' }, { role: 'assistant' }],
    ],
    [
      { role: 'user', content: [text('Hi'), text('b')] },
      { ...USER, name: 'ann' },
    ],
  ],
  [
    'answers of tools that are empty',
    [
      USER,
      asks('c1', 'c2', 'c3'),
      toolMessage('c1', null),
      toolMessage('c2', []),
      { role: 'tool', tool_call_id: 'c3' },
    ],
    [USER, asks('c1', 'c2', 'c3'), toolMessage('c1', ''), toolMessage('c2', ''), toolMessage('c3', '')],
  ],
  [
    'calls without their type or arguments',
    [
      USER,
      {
        role: 'assistant',
        tool_calls: [
          { id: 'c1', function: { name: 'look' } },
          { id: 'c2', type: '', function: { name: 'look', arguments: null } },
          { id: 'c3', function: { name: 'look', arguments: 'null' } },
          { id: 'c4', function: { name: 'look', arguments: ' [] ' } },
        ],
      },
    ],
    [
      USER,
      {
        ...asks(),
        tool_calls: ['c1', 'c2', 'c3', 'c4'].map((id) => ({
          ...call(id),
          function: { name: 'look', arguments: '{}' },
        })),
      },
    ],
  ],
  [
    'a refusal',
    [USER, { role: 'assistant', content: null, refusal: 'No.' }],
    [USER, { role: 'assistant', content: 'No.', refusal: 'No.' }],
  ],
  [
    'text and refusal parts of an assistant',
    [USER, { role: 'assistant', content: [text('a'), { type: 'refusal', refusal: 'No.' }] }],
    [USER, { role: 'assistant', content: [text('a')], refusal: 'No.' }],
  ],
  [
    'parts of an assistant as other clients keep them: text in other words, and reasoning and calls, which are left out',
    [
      ...[
        USER,
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'Hm' },
            { type: 'output_text', text: 'a' },
          ],
        },
      ],
      ...[
        USER,
        {
          ...asks('c1'),
          content: [
            { type: 'reasoning', text: 'Hm' },
            { type: 'tool_use', id: 'c1' },
          ],
        },
      ],
      toolMessage('c1'),
    ],
    [USER, { role: 'assistant', content: [text('a')] }, USER, asks('c1'), toolMessage('c1')],
  ],
  [
    'arguments and answers of tools as objects, which are written as JSON',
    [
      USER,
      { ...asks(), tool_calls: [{ ...call('c1'), function: { name: 'look', arguments: { at: 'sky' } } }] },
      toolMessage('c1', { color: 'blue' }),
    ],
    [USER, asks('c1'), toolMessage('c1', '{"color":"blue"}')],
  ],
  [
    'reasoning, which this server does not take back',
    [USER, { role: 'assistant', content: 'y', reasoning_content: 'hm' }],
    [USER, { role: 'assistant', content: 'y' }],
  ],
  [
    'a developer message as system',
    [{ role: 'developer', content: 'Be brief' }, USER],
    [{ role: 'system', content: 'Be brief' }, USER],
  ],
]

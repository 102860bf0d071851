/** A chat model improves the prompt. */
export default {
  improve: 'Improve',
  improving: 'Improving…',
  hint: 'Asks {{model}} for a better prompt. It is charged as a chat, and nothing changes until you accept.',
  cost_max: 'At most {{cost}}',
  cost_max_english: 'In English, at most {{cost}}',
  unpaired: 'Pair every <d> with a </d> first. Dialogue is kept as it is.',
  title: 'Proposed prompt',
  proposal: 'Proposed prompt, which you can edit',
  cost: 'This proposal cost {{cost}}.',
  replaced: 'Your text was replaced by the proposal.',
  restore: 'Restore my text',
  outdated: 'The prompt has changed since you asked. The proposal would replace all of it.',
  accept: 'Use it',
  dismiss: 'Dismiss',
  unusable: 'The model changed the dialogue or did not return a prompt, so there is no proposal. Try again.',
  failed: 'No proposal. {{reason}}',
}

/** What can be done with a clip to make the next one. */
export default {
  next: 'Make another clip',
  vary: 'Vary',
  vary_hint: 'Puts the request into the form, for 3 clips.',
  vary_done: 'The request is in the form, for 3 clips. Change it, or generate them.',
  /** Above the prompt in the form. */
  continues: 'Continues “{{title}}”: describe what happens next.',
  extend: 'Extend',
  extending: 'Extracting the last frame…',
  extend_hint: 'Its last frame becomes the first frame of a new video.',
  extend_done: 'The last frame is in the form as the first frame. Describe what happens next.',
  extend_other: 'The last frame is in the form as the first frame, for {{model}}: {{before}} does not support one.',
  extend_failed: 'The last frame of this video could not be extracted. Save it from the player and add it in the form.',
  another_model: 'Use another model',
  made_from: 'Made from',
  tried_again: 'It was tried again: open the newest attempt',
  untitled: 'A video',
  try_again: 'Try again',
  try_again_title: 'Try again?',
  try_again_text: 'The same request is sent once more. It costs {{cost}}, and {{available}} is available.',
  /** Below the model in the form. */
  changed: {
    seconds: '{{model}} renders {{min}} to {{max}} s, so the length is {{to}} s, not {{from}} s.',
    ratio: '{{model}} does not render {{from}}, so the aspect ratio is {{to}}.',
    slots: '{{model}} does not take: {{slots}}.',
    count: '{{slot}}: {{model}} takes {{max}} of these {{n}}.',
    files: '{{model}} takes {{max}} files together, and there are {{n}}.',
  },
}

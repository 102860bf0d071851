/** How a prompt names the files of a request, in their order. */
export default {
  insert: 'Insert {{tag}} into the prompt',
  explained: 'The prompt can refer to a file: its button inserts the name. Files of each kind are numbered from 1.',
  moved: '{{name}} is now {{tag}}.',
  missing: 'The prompt names {{tags}}, but there is no such file.',
  unclosed: 'A <d> is never closed. Put </d> after the spoken words.',
  unopened: 'A </d> has no <d> before it. Put <d> before the spoken words.',
  show: 'Show',
}

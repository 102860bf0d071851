/** Requests that wait in the browser. */
export default {
  title_one: '{{count}} video waiting to be sent',
  title_other: '{{count}} videos waiting to be sent',
  explained:
    'Your plan renders as many as it can at the same time. These wait in this browser and are sent by themselves as others finish, while a page of the console is open. The price is that of the moment of sending.',
  added: 'No renderer of your plan is free. The video waits and is sent by itself.',
  full: 'The waiting list is full. Remove something from it first.',
  refused: 'Not sent. {{reason}}',
  again: 'Send again: {{prompt}}',
  first: 'Send first: {{prompt}}',
  remove: 'Remove from the list: {{prompt}}',
}

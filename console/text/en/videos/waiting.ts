/** Requests that wait in the browser. */
export default {
  title_one: '{{count}} video waiting to be sent',
  title_other: '{{count}} videos waiting to be sent',
  explained:
    'Your plan renders as many as it can at the same time. These wait in this browser and are sent by themselves as others finish, while a page of the console is open. The price is that of the moment of sending. Signing out removes them.',
  clips: '{{n}} clips, together',
  refused: 'Not sent. {{reason}}',
  may_be_made:
    'Not sent again: there was no response a day ago, and it may have been made. Look for it among your videos first.',
  again: 'Send again: {{prompt}}',
  first: 'Send first: {{prompt}}',
  remove: 'Remove from the list: {{prompt}}',
}

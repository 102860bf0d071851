/** Requests that wait in the browser. */
export default {
  title_one: '{{count}} video waiting to be sent',
  title_other: '{{count}} videos waiting to be sent',
  explained:
    'Your plan cannot run more videos at the same time. These wait in this browser and are sent automatically as others finish, while the console is open. You pay the price at the time of sending. Signing out removes them.',
  clips: '{{n}} clips, together',
  refused: 'Not sent. {{reason}}',
  may_be_made:
    'Not sent again: there was no response a day ago, and it may have been made. Look for it among your videos first.',
  again: 'Send again: {{prompt}}',
  first: 'Send first: {{prompt}}',
  remove: 'Remove from the list: {{prompt}}',
}

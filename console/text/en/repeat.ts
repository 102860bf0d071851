/** What can be done with a clip to make the next one. */
export default {
  next: 'Make another clip',
  vary: 'Vary',
  vary_hint: 'Puts the request into the form, for 3 clips.',
}
